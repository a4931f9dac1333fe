/** The folder of one `up`: its lock, its private Redis, its log. It holds a password and all data: mode 0700. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { CommandFault } from "../command-fault.js";

export interface DataFolder {
  readonly path: string;
  /** URL of the Redis that the running `up` uses; holds its password. */
  readonly url_file: string;
  readonly fleet_file: string;
  readonly log_file: string;
  readonly redis_config_file: string;
  readonly redis_log_file: string;
  /** Where the private Redis keeps its data. */
  readonly redis_directory: string;
}

const MARKER = "holdfast.log";

export function dataFolderAt(path: string): DataFolder {
  const root = resolve(path);
  return {
    path: root,
    url_file: join(root, "redis.url"),
    fleet_file: join(root, "fleet"),
    log_file: join(root, MARKER),
    redis_config_file: join(root, "redis.conf"),
    redis_log_file: join(root, "redis.log"),
    redis_directory: join(root, "redis"),
  };
}

function isOurs(path: string): boolean {
  const names = readdirSync(path);
  return names.length === 0 || names.includes(MARKER);
}

/**
 * Throws where the folder is another user's: they could put a Redis of their own into it, and so be given every request
 * or be the ledger of this user's worker. A missing one is nobody's.
 */
export function refuseForeignFolder(path: string): void {
  const owner = statSync(path, { throwIfNoEntry: false })?.uid;
  if (owner === undefined || owner === process.getuid?.()) return;
  throw new CommandFault("usage", `the data folder ${path} belongs to another user: name another with --data`);
}

/** Makes the folder where it is missing. An existing one is taken only if it is empty or was made here. */
export function prepareDataFolder(path: string): DataFolder {
  const folder = dataFolderAt(path);
  if (/[\r\n\0]/.test(folder.path)) throw new CommandFault("usage", "the data folder's path holds a line break");
  try {
    mkdirSync(folder.path, { recursive: true, mode: 0o700 });
    refuseForeignFolder(folder.path);
    if (!statSync(folder.path).isDirectory()) throw new CommandFault("usage", `${folder.path} is not a folder`);
    if (!isOurs(folder.path)) {
      throw new CommandFault("usage", `${folder.path} holds other files: name an empty or a new folder with --data`);
    }
    chmodSync(folder.path, 0o700);
    writeFileSync(folder.log_file, "", { flag: "a", mode: 0o600 });
    mkdirSync(folder.redis_directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    if (error instanceof CommandFault) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? "unknown";
    throw new CommandFault(
      "usage",
      `the data folder ${folder.path} cannot be used (${code}): name another with --data`,
    );
  }
  return folder;
}

/** Replaces the file in one step, readable by its owner only. */
export function writePrivateFile(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600 });
  chmodSync(`${path}.new`, 0o600);
  renameSync(`${path}.new`, path);
}

/** The file's text without its last line break; null where there is none. */
export function readPrivateFile(path: string): string | null {
  try {
    return readFileSync(path, "utf8").trimEnd();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
