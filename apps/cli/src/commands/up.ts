import type { Command } from "commander";
import type { CommandContext } from "../command-context.js";
import { addPoolOptions } from "../pool-flags.js";
import type { UpOptions } from "../up/serve-up.js";

const HELP = `
One process serves this machine: a worker on its Docker Engine, and the gateway with the queue board.
Without REDIS_URL it also keeps a private Redis (loopback, password, every write on disk) in the data folder.
It prints one line with the word ready, and logs to holdfast.log in the data folder.
SIGTERM or Ctrl-C ends it once running tasks have ended or were handed back. The data stay for the next up.`;

export function addUp(program: Command, context: CommandContext): void {
  addPoolOptions(program.command("up"))
    .summary("start a fleet of this one machine")
    .description("Start a fleet of this one machine and stay until it is ended.")
    .option("--data <dir>", "data folder, one for each up (default: HOLDFAST_DATA, else .holdfast)")
    .option("--port <port>", "port of the gateway, 0 for a free one (default: HOLDFAST_GATEWAY_PORT, else 7070)")
    .option("--slots <count>", "sandboxes at once (default: twice the engine's cores)")
    .addHelpText("after", HELP)
    .action(async (options: UpOptions) => (await import("../up/serve-up.js")).serveUp(options, context));
}
