import { createLogger, createMetrics, runProgram } from "@holdfast/chassis";
import { readWorkerConfig, startWorker } from "@holdfast/worker";
import type { CommandContext, FleetOptions } from "../command-context.js";
import { findFleet } from "../fleet-address.js";
import type { PoolOptions } from "../pool-flags.js";
import { checkEngine } from "./engine-check.js";
import { exitOnFailedStart } from "./failed-start.js";
import { hostWords } from "./host-words.js";
import { poolSettings } from "./pool-options.js";

export interface WorkerOptions extends FleetOptions, PoolOptions {
  readonly slots?: string;
}

/** Runs a worker until it is told to end; never returns. */
export function serveWorker(options: WorkerOptions, context: CommandContext): Promise<void> {
  const { redis_url } = findFleet(context.config, options.data);
  const slots = options.slots === undefined ? {} : { HOLDFAST_SLOTS: options.slots };
  const config = readWorkerConfig({ ...context.env, REDIS_URL: redis_url, ...slots, ...poolSettings(options) });
  const logger = createLogger({ name: "worker", level: config.HOLDFAST_LOG_LEVEL });
  const start = async () => {
    await checkEngine(context.env);
    const worker = await startWorker(config, { logger, metrics: createMetrics() });
    context.console.line(`holdfast worker ready: ${hostWords(worker)}, boot ${worker.boot_id}`);
    return worker;
  };
  return runProgram({ name: "worker", logger, start: () => exitOnFailedStart(context.console, start) });
}
