import { CommandFault } from "./command-fault.js";
import type { CliConfig } from "./config.js";
import { dataFolderAt, readPrivateFile, refuseForeignFolder } from "./data-folder/data-folder.js";
import { upHolder } from "./data-folder/up-lock.js";

export interface FleetAddress {
  readonly redis_url: string;
  readonly prefix: string;
  readonly queue_prefix: string;
}

/** The fleet of REDIS_URL, else that of the `up` on the data folder. Throws a CommandFault where none runs. */
export function findFleet(config: CliConfig, data: string | undefined): FleetAddress {
  const prefixes = { prefix: config.HOLDFAST_PREFIX, queue_prefix: config.HOLDFAST_QUEUE_PREFIX };
  if (config.REDIS_URL !== undefined) return { redis_url: config.REDIS_URL, ...prefixes };
  const folder = dataFolderAt(data ?? config.HOLDFAST_DATA);
  refuseForeignFolder(folder.path);
  const url = upHolder(folder.path) === null ? null : readPrivateFile(folder.url_file);
  if (url !== null) return { redis_url: url, ...prefixes };
  const remedy = "start one with `holdfast up`, or name one by REDIS_URL or --data DIR";
  throw new CommandFault("platform", `no fleet runs on ${folder.path}: ${remedy}`);
}
