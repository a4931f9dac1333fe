import { createLogger, runProgram } from "@holdfast/chassis";
import type { Command } from "commander";
import type { CommandContext, FleetOptions } from "../command-context.js";
import { prepareDataFolder } from "../data-folder/data-folder.js";
import { exitOnFailedStart } from "../up/failed-start.js";
import { openLogFile } from "../up/log-file.js";
import { bringUp } from "../up/up.js";

interface UpOptions extends FleetOptions {
  readonly port?: string;
  readonly slots?: string;
}

function up(options: UpOptions, context: CommandContext): Promise<void> {
  const { config, env, console } = context;
  const folder = prepareDataFolder(options.data ?? config.HOLDFAST_DATA);
  const logger = createLogger({ name: "up", destination: openLogFile(folder.log_file) });
  const { port, slots } = options;
  const chosen = { ...(port === undefined ? {} : { port }), ...(slots === undefined ? {} : { slots }) };
  // A closed terminal ends the fleet as a Ctrl-C does.
  process.on("SIGHUP", () => process.kill(process.pid, "SIGTERM"));
  const start = async () => {
    const running = await bringUp({ folder, config, env, logger, ...chosen });
    console.line(running.ready_line);
    return running;
  };
  return runProgram({ name: "up", logger, start: () => exitOnFailedStart(console, start) });
}

const HELP = `
One process serves this machine: a worker on its Docker Engine, and the gateway with the queue board.
Without REDIS_URL it also keeps a private Redis (loopback, password, every write on disk) in the data folder.
It prints one line with the word ready, and logs to holdfast.log in the data folder.
SIGTERM or Ctrl-C ends it once running tasks have ended or were handed back. The data stay for the next up.`;

export function addUp(program: Command, context: CommandContext): void {
  program
    .command("up")
    .summary("start a fleet of this one machine")
    .description("Start a fleet of this one machine and stay until it is ended.")
    .option("--data <dir>", "data folder, one for each up (default: HOLDFAST_DATA, else .holdfast)")
    .option("--port <port>", "port of the gateway, 0 for a free one (default: HOLDFAST_GATEWAY_PORT, else 7070)")
    .option("--slots <count>", "sandboxes at once (default: twice the engine's cores)")
    .addHelpText("after", HELP)
    .action((options: UpOptions) => up(options, context));
}
