import type { Command } from "commander";
import { addDataOption, type CommandContext } from "../command-context.js";
import { addPoolOptions } from "../pool-flags.js";
import type { WorkerOptions } from "../up/serve-worker.js";

export function addWorker(program: Command, context: CommandContext): void {
  addPoolOptions(addDataOption(program.command("worker")))
    .summary("serve one more host of a fleet")
    .description("Serve the Docker Engine of this machine as one host of a fleet. Logs go to standard error.")
    .option("--slots <count>", "sandboxes at once; the first worker of a host fixes it")
    .action(async (options: WorkerOptions) => (await import("../up/serve-worker.js")).serveWorker(options, context));
}
