import type { Command } from "commander";
import { collect } from "./request-options.js";

export interface PoolOptions {
  readonly pool?: string;
  readonly poolKey?: readonly string[];
}

/** Adds them to a command that runs a worker. */
export function addPoolOptions(command: Command): Command {
  return command
    .option("--pool <count>", "sandboxes of the default image and resources that wait ready (default 2, 0 for none)")
    .option("--pool-key <key>", "keep one of IMAGE:CPU:MEMORY ready, such as img:1:0.5:512m; repeatable", collect);
}
