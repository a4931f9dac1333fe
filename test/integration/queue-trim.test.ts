/** Finished jobs by number: the oldest go, also those whose producer wanted them to stay for ever (Q1). */
import { Queue } from "bullmq";
import { expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { complete, handleWith, useQueueBenches } from "./queue-bench.js";

const bench = useQueueBenches();

it("trims completed and failed jobs to the number each, oldest first, and counts only where it is asked to", async () => {
  const opened = bench();
  const { queue, prefix } = opened;
  const producer = new Queue("tasks", { connection: opened.connect(), prefix });
  for (let n = 1; n <= 5; n += 1) {
    await producer.add("plain", { n }, { jobId: `job-${n}`, removeOnComplete: false, removeOnFail: false });
  }
  const handled = await handleWith(opened, (envelope) =>
    envelope.job_id === "job-5" ? { kind: "reject", message: "no" } : complete(envelope),
  );
  handled.consumer.setSlots(1);
  const finished = async () => {
    const { completed = 0, failed = 0 } = await producer.getJobCounts("completed", "failed");
    return completed === 4 && failed === 1;
  };
  await waitFor(finished, { bound_ms: 10_000, what: "all jobs are finished" });

  expect(await queue.trimFinished(1, true)).toEqual({ removed: 0, left: 3 });
  expect(await queue.trimFinished(1)).toEqual({ removed: 3, left: 0 });

  expect(await Promise.all(["job-3", "job-4", "job-5"].map((id) => queue.state("tasks", id)))).toEqual([
    "gone",
    "finished",
    "finished",
  ]);
  expect(await queue.trimFinished(1)).toEqual({ removed: 0, left: 0 });
});
