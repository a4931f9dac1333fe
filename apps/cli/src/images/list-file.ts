/** The file of the allow list: read whole, replaced whole. */
import { readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { parseImageList } from "@holdfast/contract";
import { CommandFault } from "../command-fault.js";

export interface ListFile {
  /** Where it lies, links followed. */
  readonly path: string;
  readonly list: { images: ({ image: string } & Record<string, unknown>)[] };
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Null where there is no file. Throws a CommandFault where it cannot be read or is not valid. */
export function readListFile(path: string): ListFile | null {
  try {
    const real = realpathSync(path);
    const text = readFileSync(real, "utf8");
    parseImageList(text);
    return { path: real, list: JSON.parse(text) };
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw new CommandFault("platform", `${path}: ${reasonOf(error)}`);
  }
}

/** Whoever reads meanwhile sees the old list or the new one. */
export function writeListFile(path: string, list: object): void {
  const fresh = `${path}.${process.pid}.new`;
  try {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0o644;
    writeFileSync(fresh, `${JSON.stringify(list, null, 2)}\n`, { mode: mode & 0o777, flag: "wx" });
    renameSync(fresh, path);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw new CommandFault("platform", `${path} cannot be written: ${reasonOf(error)}`);
  }
}
