import type { Duty } from "@holdfast/chassis";
import { TIMES } from "@holdfast/contract";
import type { SweepFacts } from "@holdfast/engine";
import type { BootState } from "../boot/boot-state.js";

function factsOf(boot: BootState): SweepFacts {
  const now_ms = boot.lease.now();
  const known = boot.sights.known(now_ms);
  return {
    dead_boots: boot.sights.deadForGood(),
    // The view of held sandboxes is live: one that is created while the engine lists is seen as held.
    held: boot.tokens.sandboxes,
    ...(known === null ? {} : { known_boots: known }),
  };
}

/**
 * One pass over the engine for what this boot does not hold, what DEAD boots left, and what is over (E1, E2). Throws
 * where the engine cannot be asked.
 */
export async function sweepOnce(boot: BootState): Promise<Record<string, number>> {
  const began_ms = boot.lease.now();
  const { strange, ...counts } = await boot.engine.sweep(factsOf(boot));
  boot.strange = { seen_at_ms: began_ms, sandbox_ids: strange };
  boot.metrics.sweep_removed_total.add(counts.removed);
  boot.metrics.sweep_stuck.set(counts.stuck);
  boot.metrics.strange_sandboxes.set(strange.length);
  if (counts.removed > 0) boot.logger.warn("sweep_removed", { ...counts });
  return { ...counts, strange: strange.length };
}

export function sweepDuty(boot: BootState): Duty {
  let stuck_before = 0;
  return {
    name: "sweep",
    every_ms: TIMES.sweep_ms,
    back_off_periods_max: 2,
    runOnce: async () => {
      const counts = await sweepOnce(boot);
      const { stuck = 0 } = counts;
      if (stuck > stuck_before) boot.logger.error("removal_stuck", counts);
      stuck_before = stuck;
      return counts;
    },
  };
}
