import type { Duty } from "@holdfast/chassis";
import { TIMES } from "@holdfast/contract";
import type { SweepFacts } from "@holdfast/engine";
import type { Care } from "./care.js";

function factsOf(care: Care): SweepFacts {
  const now_ms = care.lease.now();
  const known = care.sights.known(now_ms);
  return {
    dead_boots: care.sights.deadForGood(),
    // The view of held sandboxes is live: one that is created while the engine lists is seen as held.
    held: care.held,
    ...(known === null ? {} : { known_boots: known }),
  };
}

/**
 * One pass over the engine for what this boot does not hold, what DEAD boots left, and what is over (E1, E2). Throws
 * where the engine cannot be asked.
 */
export async function sweepOnce(care: Care): Promise<Record<string, number>> {
  const began_ms = care.lease.now();
  const { strange, ...counts } = await care.engine.sweep(factsOf(care));
  care.strange = { seen_at_ms: began_ms, sandboxes: strange };
  care.metrics.sweep_removed_total.add(counts.removed);
  care.metrics.sweep_stuck.set(counts.stuck);
  if (counts.removed > 0) care.logger.warn("sweep_removed", { ...counts });
  return { ...counts, strange: strange.length };
}

export function sweepDuty(care: Care): Duty {
  let stuck_before = 0;
  return {
    name: "sweep",
    every_ms: TIMES.sweep_ms,
    back_off_periods_max: 2,
    runOnce: async () => {
      if (care.host_id === null) return {};
      const counts = await sweepOnce(care);
      const { stuck = 0 } = counts;
      if (stuck > stuck_before) care.logger.error("removal_stuck", counts);
      stuck_before = stuck;
      return counts;
    },
  };
}
