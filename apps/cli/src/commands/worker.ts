import { createLogger, createMetrics, runProgram } from "@holdfast/chassis";
import { readWorkerConfig, startWorker } from "@holdfast/worker";
import type { Command } from "commander";
import { addDataOption, type CommandContext, type FleetOptions } from "../command-context.js";
import { findFleet } from "../fleet-address.js";
import { checkEngine } from "../up/engine-check.js";
import { exitOnFailedStart } from "../up/failed-start.js";

interface WorkerOptions extends FleetOptions {
  readonly slots?: string;
}

function serve(options: WorkerOptions, context: CommandContext): Promise<void> {
  const { redis_url } = findFleet(context.config, options.data);
  const slots = options.slots === undefined ? {} : { HOLDFAST_SLOTS: options.slots };
  const config = readWorkerConfig({ ...context.env, REDIS_URL: redis_url, ...slots });
  const logger = createLogger({ name: "worker", level: config.HOLDFAST_LOG_LEVEL });
  const start = async () => {
    await checkEngine(context.env);
    const worker = await startWorker(config, { logger, metrics: createMetrics() });
    await worker.ready();
    context.console.line(`holdfast worker ready: host ${worker.host_id}, boot ${worker.boot_id}`);
    return worker;
  };
  return runProgram({ name: "worker", logger, start: () => exitOnFailedStart(context.console, start) });
}

export function addWorker(program: Command, context: CommandContext): void {
  addDataOption(program.command("worker"))
    .summary("serve one more host of a fleet")
    .description("Serve the Docker Engine of this machine as one host of a fleet. Logs go to standard error.")
    .option("--slots <count>", "sandboxes at once; the first worker of a host fixes it")
    .action((options: WorkerOptions) => serve(options, context));
}
