import { existsSync } from "node:fs";
import { until } from "@holdfast/chassis";
import type { Command } from "commander";
import type { CommandContext, FleetOptions } from "../command-context.js";
import { CommandFault } from "../command-fault.js";
import { dataFolderAt } from "../data-folder/data-folder.js";
import { stopServer } from "../data-folder/private-redis.js";
import { isRunning } from "../data-folder/process-identity.js";
import { serversIn } from "../data-folder/redis-process.js";
import { upHolder } from "../data-folder/up-lock.js";
import { EXIT } from "../exit-codes.js";
import { parseSeconds } from "../request-options.js";

interface DownOptions extends FleetOptions {
  readonly timeout: string;
}

const POLL_MS = 50;

async function endUp(path: string, within_ms: number): Promise<boolean> {
  const holder = upHolder(path);
  if (holder === null) return false;
  process.kill(holder.pid, "SIGTERM");
  if (await until(() => !isRunning(holder), { every_ms: POLL_MS, within_ms })) return true;
  throw new CommandFault("platform", `the up of ${path} (pid ${holder.pid}) still drains: run \`holdfast down\` again`);
}

/** A killed `up` leaves its Redis behind for the next one; here nobody comes. */
async function endRedis(directory: string): Promise<boolean> {
  const servers = existsSync(directory) ? serversIn(directory) : [];
  for (const server of servers) {
    if (await stopServer(server)) continue;
    throw new CommandFault(
      "platform",
      `the private Redis (pid ${server.pid}) did not end: try again, or end it by hand`,
    );
  }
  return servers.length > 0;
}

async function down(options: DownOptions, context: CommandContext): Promise<number> {
  const folder = dataFolderAt(options.data ?? context.config.HOLDFAST_DATA);
  const ended = await endUp(folder.path, parseSeconds("timeout", options.timeout) * 1_000);
  const swept = await endRedis(folder.redis_directory);
  context.console.line(ended || swept ? `down: ${folder.path}` : `nothing runs on ${folder.path}`);
  return EXIT.ok;
}

export function addDown(program: Command, context: CommandContext): void {
  program
    .command("down")
    .summary("end the fleet of a data folder")
    .description("End the `up` of a data folder: running tasks end or are handed back, and the data stay.")
    .option("--data <dir>", "data folder (default: HOLDFAST_DATA, else .holdfast)")
    .option("--timeout <time>", "how long to wait for it to end", "120s")
    .action(async (options: DownOptions) => context.exit(await down(options, context)));
}
