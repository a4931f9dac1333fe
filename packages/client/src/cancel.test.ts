import { HoldfastError, type Outcome, taskIdSchema, workspaceIdSchema } from "@holdfast/contract";
import type { CancelReply, Promotion } from "@holdfast/ledger";
import { describe, expect, it } from "vitest";
import { type CancelDeps, cancelTask } from "./cancel.js";

const name = { workspace_id: workspaceIdSchema.parse("default"), task_id: taskIdSchema.parse("task_1") };
const outcome = { status: "CANCELLED" } as Outcome;
const follower: Promotion = { ...name, queue: "tasks", job_id: "41" };
const own: Promotion = { ...name, queue: "tasks", job_id: "default.task_1.3" };

function setup(reply: CancelReply, promote: CancelDeps["queue"]["promote"] = async () => 0) {
  const promoted: string[] = [];
  const deps: CancelDeps = {
    tasks: { cancel: async () => reply },
    queue: {
      promote: async (promotions) => {
        promoted.push(...promotions.map(({ job_id }) => job_id));
        return promote(promotions);
      },
    },
    fail_fast_ms: 1_000,
  };
  return { promoted, cancel: () => cancelTask(deps, name) };
}

describe("cancel", () => {
  it("wakes the task's own job once, and each other that the ledger names", async () => {
    const { cancel, promoted } = setup({ kind: "cancelled", outcome, promotions: [own, follower] });

    expect(await cancel()).toEqual({ kind: "cancelled", outcome });
    expect(promoted).toEqual(["default.task_1.3", "41"]);
  });

  it("wakes the own job also where the first reply was lost", async () => {
    const { cancel, promoted } = setup({ kind: "cancelled", outcome, promotions: [own] });

    await cancel();

    expect(promoted).toEqual(["default.task_1.3"]);
  });

  it("stands where the queue cannot be reached any more (T3)", async () => {
    const { cancel } = setup({ kind: "cancelled", outcome, promotions: [] }, async () => {
      throw new HoldfastError("LEDGER_UNAVAILABLE");
    });

    expect(await cancel()).toEqual({ kind: "cancelled", outcome });
  });

  it("tells a running task's cancellation as requested, and an ended one's outcome, and wakes nothing", async () => {
    const running = setup({ kind: "requested" });
    const ended = setup({ kind: "finished", outcome });

    expect(await running.cancel()).toEqual({ kind: "requested" });
    expect(await ended.cancel()).toEqual({ kind: "finished", outcome });
    expect([...running.promoted, ...ended.promoted]).toEqual([]);
  });

  it("throws TASK_NOT_FOUND for an unknown task", async () => {
    await expect(setup({ kind: "unknown" }).cancel()).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
  });
});
