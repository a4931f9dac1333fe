/** A wall clock of its own for a child of the lab, that can be stepped both ways while the child runs. */
import { execFileSync } from "node:child_process";
import { closeSync, existsSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";

export interface FakeClock {
  /** Environment of a program that is to follow this clock. */
  readonly env: Readonly<Record<string, string>>;
  /** From now on the clock is off by so many seconds from the true time. */
  set(offset_seconds: number): void;
}

function builtShim(folder: string): string {
  const library = join(folder, "clock-shim.so");
  if (!existsSync(library)) {
    const source = join(import.meta.dirname, "clock-shim.c");
    execFileSync("cc", ["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o", library, source]);
  }
  return library;
}

/** Keeps its file in `folder`, which the caller removes. */
export function createFakeClock(folder: string): FakeClock {
  const file = join(folder, "clock-offset");
  const set = (offset_seconds: number) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(Math.round(offset_seconds * 1000)));
    // Written in place: programs have this very file mapped.
    const handle = openSync(file, existsSync(file) ? "r+" : "w");
    writeSync(handle, bytes, 0, bytes.length, 0);
    closeSync(handle);
  };
  set(0);
  return { env: { LD_PRELOAD: builtShim(folder), HOLDFAST_LAB_CLOCK: file }, set };
}
