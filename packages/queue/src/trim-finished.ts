import type { Queue } from "bullmq";
import type { Trimmed } from "./task-queue.js";

/** A call removes no more, so that it holds up Redis and the caller for a bounded time. */
const STEP_MAX = 1_000;

export async function trimFinished(queue: Queue, kept: number, dry_run: boolean): Promise<Trimmed> {
  const counts = await queue.getJobCounts("completed", "failed");
  let [removed, left] = [0, 0];
  for (const state of ["completed", "failed"] as const) {
    const over = Math.max(0, (counts[state] ?? 0) - kept);
    const gone = over === 0 || dry_run ? [] : await queue.clean(0, Math.min(over, STEP_MAX), state);
    removed += gone.length;
    left += Math.max(0, over - gone.length);
  }
  return { removed, left };
}
