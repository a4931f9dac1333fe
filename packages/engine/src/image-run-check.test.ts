import { describe, expect, it } from "vitest";
import { versionIn } from "./image-run-check.js";

describe("versionIn", () => {
  it.each([
    ["Python 3.11.2\n", "3.11.2"],
    ["GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)\nCopyright 2022", "5.2.15"],
    ["git version 2.39.5\n", "2.39.5"],
    ["v20.19.1\n", "20.19.1"],
    ["1.5.3+dfsg\n", "1.5.3+dfsg"],
    ["", null],
    ["\nversion 1.2", null],
    ["no number", null],
    ["a file x86.64 and 7", null],
    [`1.${"2".repeat(100)}`, `1.${"2".repeat(62)}`],
  ])("finds in %j the version %j", (text, version) => {
    expect(versionIn(text)).toBe(version);
  });
});
