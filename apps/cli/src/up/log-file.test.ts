import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openLogFile } from "./log-file.js";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-log-"));
  path = join(folder, "holdfast.log");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const textOf = (file: string): string => readFileSync(file, "utf8");

it("keeps one full file beside the one it writes, loses no line of either, and lets nobody else read", () => {
  const log = openLogFile(path, 20);
  for (const line of ["first line\n", "second line\n", "third line\n", "fourth line\n", "fifth\n"]) log.write(line);

  expect([textOf(`${path}.1`), textOf(path)]).toEqual(["third line\nfourth line\n", "fifth\n"]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

it("goes on where a restart left off, and counts what was there", () => {
  openLogFile(path, 20).write("before restart\n");
  const log = openLogFile(path, 20);
  log.write("after it\n");
  log.write("then\n");

  expect([textOf(`${path}.1`), textOf(path)]).toEqual(["before restart\nafter it\n", "then\n"]);
});

it("moves no file that another emptied or put there in the meantime", () => {
  const log = openLogFile(path, 20);
  log.write("0123456789\n");
  truncateSync(path);
  log.write("0123456789\n");
  expect(textOf(path)).toBe("0123456789\n");

  rmSync(path);
  writeFileSync(path, "x\n");
  log.write("to the old one\n");
  log.write("to the new one\n");

  expect(textOf(path)).toBe("x\nto the new one\n");
});
