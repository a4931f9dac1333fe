import type { TaskList } from "@holdfast/client";
import { describe, expect, it } from "vitest";
import { parseStatuses, searchNote } from "./ls.js";

describe("--status", () => {
  it("takes statuses and groups, by comma or repeated, in any case", () => {
    expect(parseStatuses(["waiting"])).toEqual(["PENDING"]);
    expect(parseStatuses(["running,Timeout", "FAILED"])).toEqual(["RUNNING", "TIMEOUT", "FAILED"]);
    expect(parseStatuses(["ended"])).toEqual(["SUCCEEDED", "FAILED", "TIMEOUT", "CANCELLED"]);
  });

  it.each(["done", "", "waiting,", "constructor"])("refuses %j and names what there is", (word) => {
    expect(() => parseStatuses([word])).toThrow(/give one of waiting, running, ended, PENDING/);
  });
});

describe("how far a list looked", () => {
  const found = (shown: number, more: Partial<TaskList>): TaskList => ({
    ...{ tasks: Array.from({ length: shown }, () => ({}) as TaskList["tasks"][number]), looked_at: shown },
    ...{ oldest_at_ms: 0, complete: true, ...more },
  });

  it("is said where not all that was looked at is shown, or older ones are left", () => {
    expect(searchNote(found(3, {}))).toBeNull();
    expect(searchNote(found(0, { oldest_at_ms: null }))).toBeNull();
    expect(searchNote(found(1, { looked_at: 9 }))).toBe("1 shown, 9 looked at, back to 1970-01-01T00:00:00.000Z");
    expect(searchNote(found(3, { complete: false }))).toMatch(/; there are older ones: see --limit$/);
  });
});
