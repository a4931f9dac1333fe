/** The limits that a worker offers for its host: the operator's, else what the machine and its walls allow. */
import type { Amount } from "@holdfast/contract";
import type { EngineFacts, Wall } from "@holdfast/engine";
import type { WorkerConfig } from "../config.js";
import { defaultLimits, wantedLimits } from "./start-checks.js";

/** A wall that a limit met: `from` what it would be, `to` what there is room for. */
export interface WallMet {
  readonly amount: "slots" | "pids";
  readonly from: number;
  readonly to: number;
  readonly wall: string;
  readonly seen: string;
}

/** Null limits: the operator set none. */
export interface HostLimits {
  readonly wanted: Amount | null;
  readonly defaults: Amount;
  /** Defaults that were lowered. */
  readonly lowered: readonly WallMet[];
  /** Limits of the operator that there is no room for; they stay as they are. */
  readonly exceeded: readonly WallMet[];
}

/** For each amount the wall that allows least, where that is less than `limits` has. */
export function wallsMet(limits: Amount, walls: readonly Wall[]): WallMet[] {
  return (["slots", "pids"] as const).flatMap((amount) => {
    const bounds = walls.flatMap((wall) => {
      const to = wall[amount];
      return to === null || to >= limits[amount] ? [] : [{ to, wall: wall.check.name, seen: wall.check.seen }];
    });
    const [least] = bounds.toSorted((a, b) => a.to - b.to);
    return least === undefined ? [] : [{ amount, from: limits[amount], ...least }];
  });
}

/** A host of no slot would be none: whether it may take tasks at all is told by its self-check. */
function lower(limits: Amount, met: readonly WallMet[]): Amount {
  const lowered = Object.fromEntries(met.map(({ amount, to }) => [amount, Math.max(1, to)]));
  return { ...limits, ...lowered };
}

export function hostLimits(
  config: WorkerConfig,
  facts: Pick<EngineFacts, "cpus" | "memory_mb">,
  walls: readonly Wall[],
): HostLimits {
  const roomy = defaultLimits(facts);
  // Beside limits of the operator those he left out must come out the same at each start: a disk fills and empties.
  const lasting = walls.filter(({ check }) => check.name !== "disk_space");
  const wanted = wantedLimits(config, lower(roomy, wallsMet(roomy, lasting)));
  const lowered = wallsMet(roomy, walls);
  return {
    wanted,
    defaults: lower(roomy, lowered),
    lowered: wanted === null ? lowered : [],
    exceeded: wanted === null ? [] : wallsMet(wanted, walls),
  };
}
