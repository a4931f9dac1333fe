import { taskIdSchema, workspaceIdSchema } from "@holdfast/contract";
import type { Delivery } from "@holdfast/ledger";
import { describe, expect, it } from "vitest";
import { decideHealing, healDelivery } from "./heal-delivery.js";
import type { JobState } from "./task-queue.js";

function deliveryOf(delivery: number): Delivery {
  const name = { workspace_id: workspaceIdSchema.parse("default"), task_id: taskIdSchema.parse("task_1") };
  return { ...name, delivery, queue: "tasks", job_id: `default.task_1.${delivery}` };
}

function setup(state: JobState, next: Delivery | null = deliveryOf(2)) {
  const calls: unknown[] = [];
  const queue = {
    state: async (name: string, job_id: string) => {
      calls.push(["state", name, job_id]);
      return state;
    },
    deliver: async (delivery: Delivery) => void calls.push(["deliver", delivery.job_id]),
    promote: async (promotions: readonly { job_id: string }[]) =>
      void calls.push(["promote", ...promotions.map(({ job_id }) => job_id)]),
  };
  const tasks = {
    redeliver: async (seen: Delivery, reason: string) => {
      calls.push(["redeliver", seen.job_id, reason]);
      return next;
    },
  };
  return { calls, heal: () => healDelivery(queue, tasks, deliveryOf(1)) };
}

describe("healing a delivery", () => {
  it.each(["waiting", "active", "parked"] as const)("leaves a job that is %s", async (state) => {
    const { calls, heal } = setup(state);

    expect(decideHealing(state)).toEqual({ kind: "leave" });
    expect(await heal()).toEqual({ kind: "left", state });
    expect(calls).toEqual([["state", "tasks", "default.task_1.1"]]);
  });

  it.each(["finished", "gone"] as const)(
    "counts a new delivery and adds its job where the old one is %s",
    async (state) => {
      const { calls, heal } = setup(state);

      expect(await heal()).toEqual({ kind: "redelivered", delivery: deliveryOf(2) });
      expect(calls.slice(1)).toEqual([
        ["redeliver", "default.task_1.1", `delivery_${state}`],
        ["deliver", "default.task_1.2"],
      ]);
    },
  );

  it("wakes a job that somebody laid down for longer than we do", async () => {
    const { calls, heal } = setup("delayed");

    expect(await heal()).toEqual({ kind: "woken", state: "delayed" });
    expect(calls.slice(1)).toEqual([["promote", "default.task_1.1"]]);
  });

  it("adds no job where the ledger counted none", async () => {
    const { calls, heal } = setup("gone", null);

    expect(await heal()).toEqual({ kind: "overtaken" });
    expect(calls.map((call) => (Array.isArray(call) ? call[0] : call))).toEqual(["state", "redeliver"]);
  });
});
