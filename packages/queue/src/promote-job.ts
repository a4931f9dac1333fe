/** Wakes a sleeping job by a script of our own: BullMQ has none that puts it ahead of those that wait. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Queue } from "bullmq";
import type { QueueConnection } from "./fetching-worker.js";

export const PROMOTE_JOB = readFileSync(new URL("../scripts/job-promote.lua", import.meta.url), "utf8");
const SHA = createHash("sha1").update(PROMOTE_JOB).digest("hex");

/** True where the job slept. One that woke by itself and waits again is moved ahead, any other is left alone. */
export async function promoteJob(connection: QueueConnection, queue: Queue, jobId: string): Promise<boolean> {
  const root = queue.toKey("");
  try {
    return (await connection.evalsha(SHA, 1, root, jobId)) === 1;
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
    return (await connection.eval(PROMOTE_JOB, 1, root, jobId)) === 1;
  }
}
