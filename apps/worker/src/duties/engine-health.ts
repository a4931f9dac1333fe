import type { Duty } from "@holdfast/chassis";
import { TIMES } from "@holdfast/contract";
import type { BootState } from "../boot/boot-state.js";
import { doubtEngine } from "../boot/engine-doubt.js";

const MISSES_MAX = 2;
/** Passes between two tries to have a sandbox from an engine that answers but does not serve. */
const PROBE_PASSES_MAX = 10;

/**
 * Pings the engine. A sick one closes the gate at once and is told in the beat; one that answers again is trusted only
 * after it gave a sandbox that was verified.
 */
export function engineHealthDuty(boot: BootState): Duty {
  let misses = 0;
  let failures = 0;
  let skip = 0;
  let was_away = false;

  async function tryProbe(): Promise<void> {
    if (skip > 0) {
      skip -= 1;
      return;
    }
    try {
      await boot.engine.probe();
    } catch (error) {
      if (failures === 0) boot.logger.warn("engine_serves_no_sandbox", { error });
      failures += 1;
      skip = Math.min(2 ** failures - 1, PROBE_PASSES_MAX);
      return;
    }
    failures = 0;
    boot.engine_healthy = true;
    boot.gate.open("engine_sick");
    boot.logger.warn("engine_well_again");
    // What was lost with an engine that went away needs no other reason.
    if (was_away) boot.fitness.askAgain();
    was_away = false;
    boot.pokeBeat();
    boot.pokeSweep();
    boot.pokeRecovery();
  }

  return {
    name: "engine_health",
    every_ms: TIMES.engine_ping_ms,
    back_off_periods_max: 1,
    runOnce: async () => {
      const answered = await boot.engine.ping();
      misses = answered ? 0 : misses + 1;
      was_away ||= misses >= MISSES_MAX;
      if (misses >= MISSES_MAX) doubtEngine(boot);
      if (answered && !boot.engine_healthy) await tryProbe();
      boot.metrics.engine_healthy.set(boot.engine_healthy ? 1 : 0);
      return { missed: misses };
    },
  };
}
