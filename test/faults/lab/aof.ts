/** A Redis append-only file as the lab cuts it: what power loss would leave is a prefix of it. */
import { closeSync, ftruncateSync, openSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { FrameCutter } from "./resp-frames.js";

/** The increments file, which is appended to. Null before the first start. */
export function incrementsFile(folder: string): string | null {
  try {
    const names = readdirSync(join(folder, "appendonlydir")).filter((name) => name.endsWith(".incr.aof"));
    const last = names.sort((left, right) => left.length - right.length || (left < right ? -1 : 1)).at(-1);
    return last === undefined ? null : join(folder, "appendonlydir", last);
  } catch {
    return null;
  }
}

export function aofBytes(folder: string): number {
  const file = incrementsFile(folder);
  return file === null ? 0 : statSync(file).size;
}

/** Loses everything behind byte `at`. The server must not run. */
export function cutAof(folder: string, at: number): void {
  const file = incrementsFile(folder);
  if (file === null) throw new Error(`no append-only file in ${folder}`);
  const handle = openSync(file, "r+");
  ftruncateSync(handle, at);
  closeSync(handle);
}

/** Offsets behind each command: places where a crash may cut without cutting a command in two. */
export function commandBoundaries(folder: string): number[] {
  const file = incrementsFile(folder);
  if (file === null) return [];
  let at = 0;
  return new FrameCutter().push(readFileSync(file)).map((frame) => {
    at += frame.length;
    return at;
  });
}
