import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { firstFileOf, tarOf } from "./tar.js";

describe("tarOf", () => {
  it.each([0, 1, 511, 512, 513, 700_000])("carries %d bytes so that they read back", (size) => {
    const content = randomBytes(size);

    expect(firstFileOf(tarOf("agent", content, 0o555))?.equals(content)).toBe(true);
  });

  it("is what tar itself takes for one file of root with the mode asked for", () => {
    const { stdout } = spawnSync("tar", ["-tvf", "-"], { input: tarOf("holdfast-agent", Buffer.from("abc"), 0o555) });

    expect(stdout.toString()).toMatch(/^-r-xr-xr-x 0\/0 +3 1970-01-01 [0-9:]+ holdfast-agent\n$/);
  });
});

describe("firstFileOf", () => {
  it.each([
    ["an archive cut short", tarOf("a", Buffer.alloc(1000), 0o644).subarray(0, 900)],
    ["no archive", Buffer.from("no")],
    ["a directory", Buffer.from(tarOf("a", Buffer.alloc(0), 0o755)).fill("5", 156, 157)],
  ])("gives nothing for %s", (_, tar) => {
    expect(firstFileOf(tar)).toBeNull();
  });
});
