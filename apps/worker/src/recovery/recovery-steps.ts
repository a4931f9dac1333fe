/** What recovery does for one DEAD boot. Pure: duties/recovery.ts does it, as often as it takes. */
import { type HostId, TIMES } from "@holdfast/contract";
import { LOST_TAIL_MS } from "@holdfast/ledger";
import type { DeadBoot } from "./boot-sights.js";

export interface RecoverySteps {
  /** Its engine is served here: its sandboxes are ended and looked for, which is the proof. */
  readonly prove: boolean;
  /** Its tasks go back to PENDING: at once, or once none of its sandboxes runs any more. */
  readonly recover: "at_once" | "when_quiet" | "no";
  /** Its capacity is given back: by the dead-man bound, or by proof where there is one. */
  readonly free: "bound" | "proof" | "no";
  /** What was routed to it is sent elsewhere, and its queue is removed. */
  readonly tidy: boolean;
}

export interface RecoveryView {
  /** Null where no engine is served here. */
  readonly host_id: HostId | null;
  readonly engine_healthy: boolean;
  /** Since this worker last tidied up after the boot; null where it never did. */
  readonly tidied_ms: number | null;
}

/** A sender that read the route before the boot died is done with it by then. */
const TIDY_OFTEN_MS = 60_000;
const TIDY_MS = 5_000;
const TIDY_LATER_MS = 60_000;

const NOTHING: RecoverySteps = { prove: false, recover: "no", free: "no", tidy: false };

function tidyIsDue(dead: DeadBoot, { tidied_ms }: RecoveryView): boolean {
  return tidied_ms === null || tidied_ms >= (dead.dead_ms < TIDY_OFTEN_MS ? TIDY_MS : TIDY_LATER_MS);
}

export function stepsFor(dead: DeadBoot, view: RecoveryView): RecoverySteps {
  if (dead.dead_ms < LOST_TAIL_MS) return NOTHING;
  const tidy = tidyIsDue(dead, view);
  if (dead.reservations === 0 && !dead.holds_slice) return { ...NOTHING, tidy };
  const isHere = dead.host_id === view.host_id;
  const prove = isHere && view.engine_healthy;
  // By now every sandbox of it has ended by its own permission to live, whatever its engine says.
  if (dead.seen_ms >= TIMES.dead_man_bound_ms) return { prove, recover: "at_once", free: "bound", tidy };
  return { prove, recover: isHere ? "when_quiet" : "at_once", free: isHere ? "proof" : "no", tidy };
}
