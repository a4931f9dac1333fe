import type { Duty } from "@holdfast/chassis";
import { type HostId, TIMES } from "@holdfast/contract";
import type { EngineCare } from "@holdfast/engine";
import type { Care } from "../duties/care.js";

export interface EngineSeen extends Pick<Care, "logger" | "metrics" | "pokeSweep" | "pokeRecovery"> {
  readonly engine: Pick<EngineCare, "ping" | "identify">;
  host_id: HostId | null;
  engine_healthy: boolean;
}

const MISSES_MAX = 2;

/**
 * Looks whether an engine answers, and asks one that comes or comes back which host of the fleet it is. A supervisor
 * without an engine serves the ledger alone; it makes no sandbox, so an answer is all it needs.
 */
export function engineLookDuty(seen: EngineSeen): Duty {
  let misses = 0;

  async function welcome(): Promise<void> {
    const host_id = await seen.engine.identify();
    if (host_id === null) return;
    seen.host_id = host_id;
    seen.engine_healthy = true;
    seen.logger.info("engine_served", { host_id });
    seen.pokeSweep();
    seen.pokeRecovery();
  }

  return {
    name: "engine_look",
    every_ms: TIMES.engine_ping_ms,
    back_off_periods_max: 1,
    runOnce: async () => {
      misses = (await seen.engine.ping()) ? 0 : misses + 1;
      if (misses >= MISSES_MAX && seen.engine_healthy) {
        seen.engine_healthy = false;
        seen.logger.warn("engine_sick", {});
      }
      if (misses === 0 && !seen.engine_healthy) await welcome();
      seen.metrics.engine_healthy.set(seen.engine_healthy ? 1 : 0);
      return { missed: misses };
    },
  };
}
