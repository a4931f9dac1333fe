import { accessSync, constants, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { identify, type ProcessIdentity } from "./process-identity.js";

export const REDIS_PROGRAM = "redis-server";

/** Path of the program on PATH; null where there is none. */
export function findOnPath(program: string, path: string): string | null {
  for (const directory of path.split(delimiter).filter((part) => part !== "")) {
    const candidate = join(directory, program);
    try {
      accessSync(candidate, constants.X_OK);
      if (statSync(candidate).isFile()) return candidate;
    } catch {
      // Not in this directory.
    }
  }
  return null;
}

function isServerIn(pid: number, directory: string): boolean {
  try {
    const name = readFileSync(`/proc/${pid}/comm`, "utf8").trim();
    return name === REDIS_PROGRAM && readlinkSync(`/proc/${pid}/cwd`) === directory;
  } catch {
    return false;
  }
}

/**
 * The Redis servers whose data lie in this directory, from the process table: it knows them also when whoever started
 * them was killed before it could write anything down. Two servers on one directory would ruin the data.
 */
export function serversIn(directory: string): ProcessIdentity[] {
  const real = realpathSync(directory);
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => isServerIn(pid, real))
    .flatMap((pid) => identify(pid) ?? []);
}
