import { createLogger, createMetrics, runProgram } from "@holdfast/chassis";
import { readWorkerConfig, startSupervisor } from "@holdfast/worker";
import type { CommandContext, FleetOptions } from "../command-context.js";
import { findFleet } from "../fleet-address.js";
import { exitOnFailedStart } from "./failed-start.js";

/** Runs a supervisor until it is told to end; never returns. */
export function serveSupervisor(options: FleetOptions, context: CommandContext): Promise<void> {
  const { redis_url } = findFleet(context.config, options.data);
  const config = readWorkerConfig({ ...context.env, REDIS_URL: redis_url });
  const logger = createLogger({ name: "supervisor", level: config.HOLDFAST_LOG_LEVEL });
  const start = async () => {
    const supervisor = await startSupervisor(config, { logger, metrics: createMetrics() });
    const { fleet_id, health_port } = supervisor;
    context.console.line(`holdfast supervise ready: fleet ${fleet_id}, health port ${health_port}`);
    return supervisor;
  };
  return runProgram({ name: "supervisor", logger, start: () => exitOnFailedStart(context.console, start) });
}
