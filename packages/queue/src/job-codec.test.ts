import { taskIdSchema, workspaceIdSchema } from "@holdfast/contract";
import type { Delivery } from "@holdfast/ledger";
import { describe, expect, it } from "vitest";
import { decodeJob, deriveTaskId, encodeDelivery } from "./job-codec.js";
import { jobStateOf } from "./job-states.js";

const delivery: Delivery = {
  workspace_id: workspaceIdSchema.parse("default"),
  task_id: taskIdSchema.parse("task_1"),
  delivery: 2,
  queue: "tasks",
  job_id: "default.task_1.2",
};

function decode(data: unknown, { id = "default.task_1.2", name = "delivery" } = {}) {
  return decodeJob("tasks", { id, name, data, timestamp: 1_700_000_000_000 });
}

describe("the job codec", () => {
  it("reads back the delivery it wrote", () => {
    const job = encodeDelivery(delivery);

    expect(decode(job.data, { id: `${job.opts.jobId}`, name: job.name })).toEqual({
      kind: "delivery",
      name: { workspace_id: "default", task_id: "task_1" },
      delivery: 2,
      job_id: "default.task_1.2",
    });
  });

  it("writes ids only, in a job that BullMQ never tries again by itself", () => {
    const job = encodeDelivery(delivery);

    expect(Object.keys(job.data).sort()).toEqual(["delivery", "holdfast", "task_id", "workspace_id"]);
    expect(job.opts).toMatchObject({ jobId: "default.task_1.2", attempts: 1, removeOnComplete: { count: 1000 } });
  });

  it("takes any object without our mark for a plain producer's request, whatever the job is called", () => {
    const request = { image: "python:3.12-slim", command: ["true"] };

    expect(decode(request, { id: "41" })).toMatchObject({ kind: "plain", request, job_id: "41" });
    expect(decode({}, { id: "41", name: "render" })).toMatchObject({ kind: "plain", request: {} });
  });

  it("derives one task id a job, and another for each other job", () => {
    const ids = [deriveTaskId("tasks", "41", 1), deriveTaskId("tasks", "41", 2), deriveTaskId("tasks", "42", 1)];

    expect(new Set(ids).size).toBe(3);
    expect(deriveTaskId("tasks", "41", 1)).toBe(ids[0]);
    for (const id of ids) expect(taskIdSchema.safeParse(id).success).toBe(true);
  });

  it.each([
    ["no object", "text"],
    ["null", null],
    ["a list", [1]],
    ["an unknown form", { ...encodeDelivery(delivery).data, holdfast: 2 }],
    ["no delivery number", { ...encodeDelivery(delivery).data, delivery: "2" }],
    [
      "a delivery number beyond whole numbers",
      { ...encodeDelivery(delivery).data, delivery: Number.POSITIVE_INFINITY },
    ],
    ["a delivery below 1", { ...encodeDelivery(delivery).data, delivery: 0 }],
    ["an id that would split a key", { ...encodeDelivery(delivery).data, task_id: "a:b{c}*\n\0" }],
    ["an id of digits", { ...encodeDelivery(delivery).data, workspace_id: "12" }],
    ["a foreign job id", { ...encodeDelivery(delivery).data, delivery: 3 }],
  ])("calls a job with %s malformed (AT-G4)", (_, data) => {
    expect(decode(data)).toMatchObject({ kind: "malformed", job_id: "default.task_1.2" });
  });

  it("calls our data under another job name malformed", () => {
    expect(decode(encodeDelivery(delivery).data, { name: "other" })).toMatchObject({ kind: "malformed" });
  });
});

describe("the state of a job", () => {
  it.each([
    ["waiting", "waiting"],
    ["prioritized", "waiting"],
    ["waiting-children", "waiting"],
    ["active", "active"],
    ["delayed", "parked"],
    ["completed", "finished"],
    ["failed", "finished"],
    ["unknown", "gone"],
  ])("is said for BullMQ's %s as %s", (bull, ours) => {
    expect(jobStateOf(bull)).toBe(ours);
  });
});
