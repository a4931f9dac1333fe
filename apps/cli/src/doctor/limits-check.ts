/** What a worker that starts here would offer, and which wall bounds it. `hosts` shows what a registered host has. */
import { AMOUNT_KEYS } from "@holdfast/contract";
import { type Check, passed, skipped, warning } from "@holdfast/engine";
import type { HostLimits, WallMet } from "@holdfast/worker";

const REMEDY = "lower HOLDFAST_SLOTS or HOLDFAST_PIDS, or move the wall as its own check says";

const told = (met: readonly WallMet[], how: string): string =>
  met.map(({ amount, from, to, wall }) => `${amount} ${how} ${from}, ${wall} has room for ${to}`).join("; ");

/** Null where the engine did not tell what it has. */
export function judgeLimits(limits: HostLimits | null): Check {
  if (limits === null) return skipped("host_limits", "the engine was not opened");
  const { wanted, defaults, lowered, exceeded } = limits;
  const amounts = AMOUNT_KEYS.map((key) => `${key} ${(wanted ?? defaults)[key]}`).join(", ");
  if (exceeded.length > 0) return warning("host_limits", `${amounts}: ${told(exceeded, "is")}`, REMEDY);
  if (lowered.length === 0) return passed("host_limits", amounts);
  return passed("host_limits", `${amounts}: ${told(lowered, "would be")}`);
}
