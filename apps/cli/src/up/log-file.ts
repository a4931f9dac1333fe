import { openSync, writeSync } from "node:fs";

/** A destination for log lines: a file that only its owner reads and that a restart appends to. */
export function openLogFile(path: string): { write(line: string): void } {
  const descriptor = openSync(path, "a", 0o600);
  return { write: (line) => void writeSync(descriptor, line) };
}
