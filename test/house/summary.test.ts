/** The last line of scripts/test: what is counted, and that nothing which failed is counted as nothing. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "./source-tree.js";

function summarise(files: Readonly<Record<string, unknown>>): { last: string | undefined; code: number | null } {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-summary-"));
  try {
    for (const [name, content] of Object.entries(files)) {
      writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
    }
    const ended = spawnSync(process.execPath, ["scripts/test-summary.mjs", folder], { cwd: ROOT, encoding: "utf8" });
    return { last: ended.stdout.trimEnd().split("\n").at(-1), code: ended.status };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const tests = (...states: string[]) => states.map((status, index) => ({ status, fullName: `test ${index}` }));
const report = (...files: { status: string; assertionResults: object[] }[]) => ({
  testResults: files.map((file, index) => ({ name: `file-${index}`, ...file })),
});

describe("scripts/test-summary.mjs", () => {
  it("adds up tests of all projects and checks", () => {
    const files = {
      "biome.check": "passed\n",
      "unit.check": "passed\n",
      "unit.json": report({ status: "passed", assertionResults: tests("passed", "passed") }),
      "e2e.check": "passed\n",
      "e2e.json": report({ status: "passed", assertionResults: tests("passed") }),
    };
    expect(summarise(files)).toEqual({ last: "4 passed, 0 failed", code: 0 });
  });

  it("counts each failed test once", () => {
    const files = {
      "unit.check": "failed\n",
      "unit.json": report({ status: "failed", assertionResults: tests("passed", "failed", "failed") }),
    };
    expect(summarise(files)).toEqual({ last: "1 passed, 2 failed", code: 1 });
  });

  it("counts a file that could not be loaded, a phase without a report, and a teardown that failed", () => {
    const passing = report({ status: "passed", assertionResults: tests("passed") });
    expect(
      summarise({ "unit.check": "failed\n", "unit.json": report({ status: "failed", assertionResults: [] }) }),
    ).toEqual({ last: "0 passed, 1 failed", code: 1 });
    expect(summarise({ "unit.check": "failed\n" })).toEqual({ last: "0 passed, 1 failed", code: 1 });
    expect(summarise({ "e2e.check": "failed\n", "e2e.json": passing })).toEqual({
      last: "1 passed, 1 failed",
      code: 1,
    });
  });
});
