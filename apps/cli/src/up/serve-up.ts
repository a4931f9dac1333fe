import { createLogger, runProgram } from "@holdfast/chassis";
import { readGatewayConfig } from "@holdfast/gateway";
import type { CommandContext, FleetOptions } from "../command-context.js";
import { prepareDataFolder } from "../data-folder/data-folder.js";
import type { PoolOptions } from "../pool-flags.js";
import { exitOnFailedStart } from "./failed-start.js";
import { openLogFile } from "./log-file.js";
import { poolSettings } from "./pool-options.js";
import { bringUp } from "./up.js";

export interface UpOptions extends FleetOptions, PoolOptions {
  readonly port?: string;
  readonly slots?: string;
}

/** Runs an `up` until it is told to end; never returns. */
export function serveUp(options: UpOptions, context: CommandContext): Promise<void> {
  const { config, env, console } = context;
  const overrides = {
    ...(options.slots === undefined ? {} : { HOLDFAST_SLOTS: options.slots }),
    ...(options.port === undefined ? {} : { HOLDFAST_GATEWAY_PORT: options.port }),
  };
  const settings = { ...env, ...overrides, ...poolSettings(options) };
  const level = readGatewayConfig(settings).HOLDFAST_LOG_LEVEL;
  const folder = prepareDataFolder(options.data ?? config.HOLDFAST_DATA);
  const logger = createLogger({ name: "up", level, destination: openLogFile(folder.log_file) });
  // A closed terminal ends the fleet as a Ctrl-C does.
  process.on("SIGHUP", () => process.kill(process.pid, "SIGTERM"));
  const start = async () => {
    const running = await bringUp({ folder, redis_url: config.REDIS_URL, settings, logger });
    console.line(running.ready_line);
    return running;
  };
  return runProgram({ name: "up", logger, start: () => exitOnFailedStart(console, start) });
}
