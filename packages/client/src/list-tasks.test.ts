import type { TaskView, WorkspaceId } from "@holdfast/contract";
import type { TaskPage, TaskQuery } from "@holdfast/ledger";
import { describe, expect, it } from "vitest";
import { listTasks } from "./list-tasks.js";

const WORKSPACE = "default" as WorkspaceId;

function pageOf(shown: number, looked_at: number, cursor: string | null): TaskPage {
  const tasks = Array.from({ length: shown }, (_, n) => ({ delivery: n }) as TaskView);
  return { tasks, looked_at, oldest_at_ms: looked_at === 0 ? null : 1_000 - looked_at, cursor };
}

function setup(pages: TaskPage[]) {
  const asked: TaskQuery[] = [];
  const list = async (query: TaskQuery): Promise<TaskPage> => {
    asked.push(query);
    return pages.shift() ?? pageOf(0, 0, null);
  };
  return { asked, deps: { tasks: { list }, fail_fast_ms: 1_000 } };
}

describe("a list of tasks", () => {
  it("is gathered step by step until the end, and counts what was looked at", async () => {
    const { asked, deps } = setup([pageOf(0, 500, "a"), pageOf(2, 500, "b"), pageOf(1, 7, null)]);

    const found = await listTasks(deps, WORKSPACE, { image: "lab", limit: 10 });

    expect(found).toMatchObject({ looked_at: 1_007, oldest_at_ms: 993, complete: true });
    expect(found.tasks).toHaveLength(3);
    expect(asked.map(({ cursor, limit, image }) => [cursor, limit, image])).toEqual([
      [null, 10, "lab"],
      ["a", 10, "lab"],
      ["b", 8, "lab"],
    ]);
  });

  it("ends once there are enough, and says that older ones are left", async () => {
    const { asked, deps } = setup([pageOf(2, 2, "a"), pageOf(9, 9, null)]);

    expect(await listTasks(deps, WORKSPACE, { limit: 2 })).toMatchObject({ complete: false, looked_at: 2 });
    expect(asked).toHaveLength(1);
  });

  it("keeps the age of the oldest where the last step found nothing", async () => {
    const { deps } = setup([pageOf(1, 500, "a"), pageOf(0, 0, null)]);

    expect(await listTasks(deps, WORKSPACE, {})).toMatchObject({ oldest_at_ms: 500, complete: true });
  });
});
