import { closeSync, fstatSync, openSync, renameSync, statSync, writeSync } from "node:fs";

/** Log and its predecessor together take twice that. */
const BYTES_MAX = 64 * 1024 * 1024;

/**
 * A destination for log lines: a file that only its owner reads and that a restart appends to. One that has grown to
 * `bytes_max` becomes `<path>.1`, in place of the one before it.
 */
export function openLogFile(path: string, bytes_max: number = BYTES_MAX): { write(line: string): void } {
  const open = () => openSync(path, "a", 0o600);
  let descriptor = open();
  let bytes = fstatSync(descriptor).size;

  /** Somebody else may have moved or emptied it meanwhile: only what is ours and full is moved. */
  function rotate(): void {
    const [mine, there] = [fstatSync(descriptor), statSync(path, { throwIfNoEntry: false })];
    const isMine = there?.ino === mine.ino;
    bytes = mine.size;
    if (isMine && mine.size < bytes_max) return;
    if (isMine) renameSync(path, `${path}.1`);
    const fresh = open();
    closeSync(descriptor);
    descriptor = fresh;
    bytes = fstatSync(descriptor).size;
  }

  return {
    write: (line) => {
      bytes += writeSync(descriptor, line);
      if (bytes >= bytes_max) rotate();
    },
  };
}
