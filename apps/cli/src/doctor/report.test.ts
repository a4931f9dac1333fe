import { failing, passed, skipped } from "@holdfast/engine";
import { describe, expect, it } from "vitest";
import { report } from "./report.js";

const CHECKS = [
  passed("engine", "answers"),
  failing("memory", "no\nlimit", "restart it"),
  skipped("pids", "no sandbox"),
];

describe("a doctor's report", () => {
  it("shows each check, its remedy below it, and the counts at last", () => {
    expect(report(CHECKS, false)).toEqual([
      "CHECK   STATE    SEEN",
      "engine  ok       answers",
      "memory  failed   no limit",
      "                 -> restart it",
      "pids    skipped  no sandbox",
      "",
      "1 ok, 1 failed, 1 skipped, 0 warning",
    ]);
  });

  it("is one JSON object a check where that is asked for", () => {
    expect(report(CHECKS, true).map((line) => JSON.parse(line))).toEqual(CHECKS);
  });
});
