/** Where jobs stand, in our words. */
import { TIMES } from "@holdfast/contract";
import type { Queue } from "bullmq";
import type { QueueConnection } from "./fetching-worker.js";
import { DELIVERY_JOB, OUR_JOB_ID } from "./job-codec.js";
import type { JobState, QueueCounts } from "./task-queue.js";

/** BullMQ orders sleeping jobs by when they are due, in milliseconds times this. */
const DUE_STEPS = 4096;

export async function countsOf(connection: QueueConnection, queue: Queue): Promise<QueueCounts> {
  const [seconds = 0, micros = 0] = await connection.time();
  const due_below = (seconds * 1_000 + Math.floor(micros / 1_000)) * DUE_STEPS;
  const [counts, due, paused] = await Promise.all([
    queue.getJobCounts("wait", "prioritized", "active", "delayed"),
    connection.zcount(queue.toKey("delayed"), "-inf", `(${due_below}`),
    queue.isPaused(),
  ]);
  return {
    // A fetch is what moves a job that is due: where nobody fetches it waits, whatever BullMQ calls it.
    waiting: (counts.wait ?? 0) + (counts.prioritized ?? 0) + due,
    active: counts.active ?? 0,
    parked: Math.max(0, (counts.delayed ?? 0) - due),
    paused,
  };
}

/** Where more jobs wait, one that has not finished is taken to be among them. */
const SEARCHED_MAX = 1_000;

/** A name or a time of somebody's job may be of half a gigabyte: what is longer than any of ours is not read. */
const READ_BYTES_MAX = 64;
const TOO_LONG = "...";

/** Fields of a job, '' where there is none. */
async function shortFields(connection: QueueConnection, key: string, names: readonly string[]): Promise<string[]> {
  const lengths = await Promise.all(names.map((name) => connection.hstrlen(key, name)));
  const read = (name: string, length: number): Promise<string | null> | string =>
    length > READ_BYTES_MAX ? TOO_LONG : length > 0 ? connection.hget(key, name) : "";
  const found = await Promise.all(names.map((name, at) => read(name, lengths[at] ?? 0)));
  return found.map((value) => value ?? "");
}

/** BullMQ looks for a job in its lists: healing, which asks often, would read the whole of a long one each time. */
export async function stateOf(connection: QueueConnection, queue: Queue, jobId: string): Promise<JobState> {
  const [waiting, [name, delay, finished]] = await Promise.all([
    connection.llen(queue.toKey("wait")),
    shortFields(connection, queue.toKey(jobId), ["name", "delay", "finishedOn"]),
  ]);
  if (OUR_JOB_ID.test(jobId) && name !== DELIVERY_JOB) return "gone";
  if (waiting > SEARCHED_MAX && name && !finished && Number(delay) <= TIMES.parked_sleep_ms) return "waiting";
  const state = await queue.getJobState(jobId);
  return state === "delayed" && Number(delay) > TIMES.parked_sleep_ms ? "delayed" : jobStateOf(state);
}

/** BullMQ's words for a job's state in ours. */
export function jobStateOf(state: string): JobState {
  switch (state) {
    case "waiting":
    case "prioritized":
    case "waiting-children":
      return "waiting";
    case "active":
      return "active";
    case "delayed":
      return "parked";
    case "completed":
    case "failed":
      return "finished";
    default:
      return "gone";
  }
}
