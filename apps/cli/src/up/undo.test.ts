import { describe, expect, it } from "vitest";
import { createUndo } from "./undo.js";

describe("undo", () => {
  it("ends in reverse, goes on after a failure, and tells the first one", async () => {
    const undo = createUndo();
    const seen: string[] = [];
    undo.add(() => void seen.push("redis"));
    undo.add(async () => {
      seen.push("worker");
      throw new Error("worker did not end");
    });
    undo.add(() => void seen.push("gateway"));

    await expect(undo.run()).rejects.toThrow("worker did not end");
    await undo.run();

    expect(seen).toEqual(["gateway", "worker", "redis"]);
  });
});
