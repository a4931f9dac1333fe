/** A producer that knows nothing of Holdfast: the whole request in a job of the queue `tasks`, by BullMQ alone. */
import { readFileSync } from "node:fs";
import { Queue, QueueEvents } from "bullmq";

const [urlFile = ""] = process.argv.slice(2);
const connection = { url: readFileSync(urlFile, "utf8").trim() };
const queue = new Queue("tasks", { connection });
const events = new QueueEvents("tasks", { connection });
try {
  await events.waitUntilReady();
  const job = await queue.add("anything", {
    image: "holdfast/python:3.11-1",
    command: ["python3", "-c", "print(sum(range(10)))"],
  });
  const outcome = await job.waitUntilFinished(events, 60_000);
  const { status, exit_code, stdout, tree_receipt } = outcome;
  console.log(
    `job ${job.id}: ${JSON.stringify({ status, exit_code, stdout_bytes: stdout.total_bytes, tree_receipt })}`,
  );
  process.exitCode = status === "SUCCEEDED" ? 0 : 1;
} finally {
  await events.close();
  await queue.close();
}
