import type { Duty } from "@holdfast/chassis";
import { TIMES } from "@holdfast/contract";
import type { BootState } from "../boot/boot-state.js";

/** One pass over the engine for containers of this boot that nobody holds (E1, E2). */
export function sweepDuty(boot: BootState): Duty {
  let stuck_before = 0;
  return {
    name: "sweep",
    every_ms: TIMES.sweep_ms,
    runOnce: async () => {
      // The view of held sandboxes is live: one that is created while the engine lists is seen as held.
      const counts = await boot.engine.sweep({ dead_boots: new Set(), held: boot.tokens.sandboxes });
      boot.metrics.sweep_removed_total.add(counts.removed);
      boot.metrics.sweep_stuck.set(counts.stuck);
      if (counts.removed > 0) boot.logger.warn("sweep_removed", { ...counts });
      if (counts.stuck > stuck_before) boot.logger.error("removal_stuck", { ...counts });
      stuck_before = counts.stuck;
      return { ...counts };
    },
  };
}
