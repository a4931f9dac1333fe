import type { Duty } from "@holdfast/chassis";
import { TIMES } from "@holdfast/contract";
import type { BootState } from "../boot/boot-state.js";

const MISSES_MAX = 2;

/** Pings the engine. A sick one closes the gate at once, before anything is handed back, and is told in the beat. */
export function engineHealthDuty(boot: BootState): Duty {
  let misses = 0;

  function become(healthy: boolean): void {
    if (boot.engine_healthy === healthy) return;
    boot.engine_healthy = healthy;
    if (healthy) boot.gate.open("engine_sick");
    else boot.gate.close("engine_sick");
    boot.logger.warn(healthy ? "engine_well_again" : "engine_sick");
    boot.pokeBeat();
  }

  return {
    name: "engine_health",
    every_ms: TIMES.engine_ping_ms,
    back_off_periods_max: 1,
    runOnce: async () => {
      const answered = await boot.engine.ping();
      misses = answered ? 0 : misses + 1;
      if (misses === 0) become(true);
      if (misses >= MISSES_MAX) become(false);
      boot.metrics.engine_healthy.set(boot.engine_healthy ? 1 : 0);
      return { missed: misses };
    },
  };
}
