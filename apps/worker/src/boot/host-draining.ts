import type { BootState } from "./boot-state.js";

/** What the ledger last said of the host holds: a host that drains takes nothing in until it is taken back. */
export function followHost({ gate, logger }: Pick<BootState, "gate" | "logger">, draining: boolean): void {
  if (gate.reasons.includes("host_draining") === draining) return;
  if (draining) gate.close("host_draining");
  else gate.open("host_draining");
  logger.warn(draining ? "host_drained" : "host_undrained");
}
