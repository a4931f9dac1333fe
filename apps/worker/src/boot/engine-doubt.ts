import type { BootState } from "./boot-state.js";

/**
 * The engine failed a run, or its pings: intake is closed at once, before anything is handed back, so that a sick
 * engine cannot eat the queue. It opens when the engine health duty has had a sandbox from the engine.
 */
export function doubtEngine(boot: BootState): void {
  if (!boot.engine_healthy) return;
  boot.engine_healthy = false;
  boot.gate.close("engine_sick");
  boot.logger.warn("engine_sick");
  boot.metrics.engine_healthy.set(0);
  boot.pokeBeat();
  boot.pokeEngineHealth();
}
