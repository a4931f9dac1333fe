/** What a job holds: ids of a delivery (ours), or a plain producer's whole request. Everything else is malformed. */
import { createHash } from "node:crypto";
import { BOUNDS, type TaskName, taskIdSchema, workspaceIdSchema } from "@holdfast/contract";
import type { Delivery } from "@holdfast/ledger";
import type { JobsOptions } from "bullmq";
import type { Envelope } from "./task-queue.js";

/** Name and first data field of our own jobs; a plain producer's job never carries the field. */
export const DELIVERY_JOB = "delivery";
/** What jobIdOf() makes. */
export const OUR_JOB_ID = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[0-9]+$/;
const DELIVERY_FORM = 1;
/** Twin of the form in scripts/job-within-bounds.lua. */
const CUT_FORM = "cut";
/** Our data holds ids only; BullMQ refuses to add more than this. */
const DELIVERY_BYTES_MAX = 1024;

/** How long finished jobs stay to be looked at: whichever bound is reached first. */
export const FINISHED_KEPT = { age: 24 * 3600, count: 1000 } as const;

/** The parts of a BullMQ job that decide what it is. */
export interface RawJob {
  readonly id?: string | undefined;
  readonly name: string;
  readonly data: unknown;
  readonly timestamp: number;
}

/** Stands for data that was too long to be read. */
export function cutData(bytes: number): Readonly<Record<string, string | number>> {
  return { holdfast: CUT_FORM, bytes };
}

export interface EncodedJob {
  readonly name: string;
  readonly data: Readonly<Record<string, string | number>>;
  readonly opts: JobsOptions;
}

/** `.` is in no id, so that the parts cannot run into each other. */
export function jobIdOf(name: TaskName, delivery: number): string {
  return `${name.workspace_id}.${name.task_id}.${delivery}`;
}

export function encodeDelivery(delivery: Delivery): EncodedJob {
  const { workspace_id, task_id } = delivery;
  return {
    name: DELIVERY_JOB,
    data: { holdfast: DELIVERY_FORM, workspace_id, task_id, delivery: delivery.delivery },
    opts: {
      jobId: jobIdOf(delivery, delivery.delivery),
      attempts: 1,
      removeOnComplete: FINISHED_KEPT,
      removeOnFail: FINISHED_KEPT,
      sizeLimit: DELIVERY_BYTES_MAX,
    },
  };
}

/** The same job always yields the same id, so that a repeated fetch accepts the same task. */
export function deriveTaskId(queue: string, jobId: string, timestamp: number): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([queue, jobId, timestamp]))
    .digest("hex");
  return `task_${digest.slice(0, 24)}`;
}

export function decodeJob(queue: string, job: RawJob): Envelope {
  const jobId = job.id ?? "";
  const { data } = job;
  if (data === null || typeof data !== "object" || Array.isArray(data)) {
    return malformed(jobId, "The job's data must be an object: a task request.");
  }
  if (!("holdfast" in data)) {
    return {
      kind: "plain",
      request: data,
      derived_task_id: deriveTaskId(queue, jobId, job.timestamp),
      job_id: jobId,
    };
  }
  return decodeDelivery(job.name, jobId, { ...data });
}

function decodeDelivery(jobName: string, jobId: string, data: Readonly<Record<string, unknown>>): Envelope {
  if (data.holdfast === CUT_FORM) return malformed(jobId, tooLong(data.bytes));
  if (jobName !== DELIVERY_JOB || data.holdfast !== DELIVERY_FORM) {
    return malformed(jobId, "The job is of a form that this fleet does not know.");
  }
  const workspace = workspaceIdSchema.safeParse(data.workspace_id);
  const task = taskIdSchema.safeParse(data.task_id);
  const { delivery } = data;
  if (!workspace.success || !task.success || !isDeliveryNumber(delivery)) {
    return malformed(jobId, "The job does not name a delivery of a task.");
  }
  const name: TaskName = { workspace_id: workspace.data, task_id: task.data };
  if (jobIdOf(name, delivery) !== jobId) return malformed(jobId, "The job's id is not that of its delivery.");
  return { kind: "delivery", name, delivery, job_id: jobId };
}

function tooLong(bytes: unknown): string {
  const found = typeof bytes === "number" ? `The job has ${bytes} bytes. ` : "";
  return `${found}A request must be ${BOUNDS.body_bytes_max} bytes at most; the job's id for deduplication, name and options 1 MiB each.`;
}

function isDeliveryNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 1;
}

function malformed(jobId: string, message: string): Envelope {
  return { kind: "malformed", message, job_id: jobId };
}
