/**
 * One `up` a data folder. The lock is the highest-numbered `up.<n>.lock`; it is held while the process it names runs,
 * so a killed holder holds nothing. Numbers only rise: the next one is taken with link(2), which one process alone
 * can win, and the highest file is never deleted, so a slow contender cannot win a number that was held before.
 */
import { randomBytes } from "node:crypto";
import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { identify, isRunning, type ProcessIdentity } from "./process-identity.js";

export type UpLock = { readonly kind: "taken"; release(): void } | { readonly kind: "held"; readonly pid: number };

const NAME = /^up\.(\d+)\.lock$/;
const ROUNDS_MAX = 50;
const RELEASED = { pid: 0, start_ticks: "", kernel_boot: "" };

const fileOf = (folder: string, number: number): string => join(folder, `up.${number}.lock`);

function numbersIn(folder: string): number[] {
  return readdirSync(folder).flatMap((name) => {
    const match = NAME.exec(name);
    return match === null ? [] : [Number(match[1])];
  });
}

function holderOf(folder: string, number: number): ProcessIdentity | null {
  try {
    return JSON.parse(readFileSync(fileOf(folder, number), "utf8")) as ProcessIdentity;
  } catch {
    return null;
  }
}

function writeTemporary(folder: string, identity: ProcessIdentity): string {
  const path = join(folder, `up.${randomBytes(6).toString("hex")}.tmp`);
  writeFileSync(path, JSON.stringify(identity), { mode: 0o600, flag: "wx" });
  return path;
}

/** False where another process has that number, or swept our temporary file away. */
function claim(folder: string, number: number, identity: ProcessIdentity): boolean {
  const temporary = writeTemporary(folder, identity);
  try {
    linkSync(temporary, fileOf(folder, number));
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "EEXIST" || code === "ENOENT") return false;
    throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
}

function removeOlder(folder: string, number: number): void {
  for (const older of numbersIn(folder).filter((found) => found < number))
    rmSync(fileOf(folder, older), { force: true });
  for (const name of readdirSync(folder).filter((found) => /^up\.[0-9a-f]{12}\.tmp$/.test(found))) {
    rmSync(join(folder, name), { force: true });
  }
}

function release(folder: string, number: number): void {
  renameSync(writeTemporary(folder, RELEASED), fileOf(folder, number));
}

/** The process whose `up` runs on this folder; null where none does. */
export function upHolder(folder: string): ProcessIdentity | null {
  let highest: number;
  try {
    highest = Math.max(0, ...numbersIn(folder));
  } catch {
    return null;
  }
  const holder = highest === 0 ? null : holderOf(folder, highest);
  return holder !== null && isRunning(holder) ? holder : null;
}

/** Takes the lock for this process, or tells which process has it. */
export function takeUpLock(folder: string): UpLock {
  const self = identify(process.pid);
  if (self === null) throw new Error("the process table at /proc cannot be read");
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const holder = upHolder(folder);
    if (holder !== null) return { kind: "held", pid: holder.pid };
    const number = Math.max(0, ...numbersIn(folder)) + 1;
    if (!claim(folder, number, self)) continue;
    if (Math.max(...numbersIn(folder)) > number) {
      rmSync(fileOf(folder, number), { force: true });
      continue;
    }
    removeOlder(folder, number);
    return { kind: "taken", release: () => release(folder, number) };
  }
  throw new Error("the lock of the data folder changes hands without end");
}
