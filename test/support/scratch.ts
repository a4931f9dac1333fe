/** Folders of a test run, named after their owner's process, so that a later run can clear what a killed one left. */
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PREFIX = "holdfast-test-";
const own = new Set<string>();
process.once("exit", () => {
  for (const folder of own) rmSync(folder, { recursive: true, force: true });
});

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** A fresh folder; it goes with the process that made it, if not before. */
export function scratchFolder(what: string): string {
  const folder = mkdtempSync(join(tmpdir(), `${PREFIX}${what}-${process.pid}-`));
  own.add(folder);
  return folder;
}

/** Ends a program that was given the folder, or a Redis (which names itself anew) that works in it. */
function endIfIn(folder: string, pid: string): void {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
    const isRedisThere = command.startsWith("redis-server") && readlinkSync(`/proc/${pid}/cwd`).startsWith(folder);
    if (isRedisThere || command.includes(folder)) process.kill(Number(pid), "SIGKILL");
  } catch {
    // It ended by itself in the meantime.
  }
}

/** Ends programs that work in a folder whose owner is gone, and removes the folder. */
export function clearAbandoned(): void {
  for (const name of readdirSync(tmpdir())) {
    const owner = name.startsWith(PREFIX) ? name.match(/-([0-9]+)-[^-]*$/)?.[1] : undefined;
    if (owner === undefined || isAlive(Number(owner))) continue;
    const folder = join(tmpdir(), name);
    for (const pid of readdirSync("/proc").filter((entry) => /^[0-9]+$/.test(entry))) endIfIn(folder, pid);
    rmSync(folder, { recursive: true, force: true });
  }
}
