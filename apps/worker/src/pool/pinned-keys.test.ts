import { describe, expect, it } from "vitest";
import { parsePinnedKey } from "./pinned-keys.js";

describe("parsePinnedKey", () => {
  it.each([
    ["holdfast/python:3.11-1:0.5:512", "holdfast/python:3.11-1", 0.5, 512],
    ["registry.local:5000/team/tool:1.2:2:1g", "registry.local:5000/team/tool:1.2", 2, 1_024],
    [`tool@sha256:${"a".repeat(64)}:1:64m`, `tool@sha256:${"a".repeat(64)}`, 1, 64],
  ])("takes %s from the right, since an image holds colons itself", (text, image, cpu, memory_mb) => {
    expect(parsePinnedKey(text)).toEqual({
      kind: "ok",
      key: { image, resources: { cpu, memory_mb, disk_mb: 256, pids_limit: 128 } },
    });
  });

  it.each([
    ["holdfast/python:3.11-1", /give it as IMAGE:CPU:MEMORY/],
    ["", /give it as IMAGE:CPU:MEMORY/],
    [":1:512", /give it as/],
    ["holdfast/python:3.11-1:one:512", /give it as/],
    ["holdfast/python:3.11-1:1:512k", /give it as/],
    ["holdfast/python:1:512", /must carry a tag/],
    ["holdfast/python:latest:1:512", /`latest`/],
    ["holdfast/python:3.11-1:1:8", /memory_mb must be at least 16/],
    ["holdfast/python:3.11-1:0.01:64", /cpu must be at least 0.05/],
    ["holdfast/python:3.11-1:2000:64", /cpu is out of bounds/],
  ])("refuses %s and says why", (text, why) => {
    expect(parsePinnedKey(text)).toEqual({ kind: "refused", message: expect.stringMatching(why) });
  });
});
