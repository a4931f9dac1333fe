import { describe, expect, it } from "vitest";
import { nameOf, workspaceOf } from "./task-names.js";

describe("a task's name", () => {
  it("is an id in the default workspace, or both parts", () => {
    expect(nameOf("task_1")).toEqual({ workspace_id: "default", task_id: "task_1" });
    expect(nameOf({ task_id: "task_1", workspace_id: "acme" })).toEqual({ workspace_id: "acme", task_id: "task_1" });
  });

  it.each(["", "a:b", "{a}", "a*", "a\nb", "a\0b", "123", "-a", "a".repeat(65), "a".repeat(10_000), "a b", "é"])(
    "refuses the id %j, naming the field (AT-G1)",
    (id) => {
      expect(() => nameOf(id)).toThrow(expect.objectContaining({ code: "INVALID_REQUEST", field: "task_id" }));
      expect(() => workspaceOf(id)).toThrow(
        expect.objectContaining({ code: "INVALID_REQUEST", field: "workspace_id" }),
      );
    },
  );
});
