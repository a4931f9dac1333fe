import { type Outcome, parseTaskRequest, type TaskName, taskIdSchema } from "@holdfast/contract";
import type { Disposition, Envelope } from "@holdfast/queue";
import { Queue, QueueEvents } from "bullmq";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PrivateRedis, startPrivateRedis } from "../support/private-redis.js";
import { waitFor } from "../support/wait-for.js";
import { type ClientBench, openClientBench, REQUEST } from "./client-bench.js";
import { handleWith } from "./queue-bench.js";

let redis: PrivateRedis;
let bench: ClientBench;

beforeAll(async () => {
  redis = await startPrivateRedis();
  bench = await openClientBench(redis.url);
});
afterAll(async () => {
  await bench.close();
  await redis.stop();
});

/** What a host does with a plain job whose task another host runs: it follows. */
async function followElsewhere(envelope: Envelope, queue: string): Promise<Disposition> {
  if (envelope.kind !== "plain") return { kind: "stale" };
  const parsed = parseTaskRequest(envelope.request);
  if (parsed.kind === "refused") return { kind: "reject", message: parsed.problems.map((p) => p.field).join() };
  const task_id = parsed.request.task_id ?? taskIdSchema.parse(envelope.derived_task_id);
  const name: TaskName = { workspace_id: parsed.request.workspace_id, task_id };
  await bench.ledger.tasks.accept({ ...parsed.request, task_id }, { queue, job_id: envelope.job_id });
  const followed = await bench.ledger.tasks.follow(name, queue, envelope.job_id);
  if (followed.kind === "done") return { kind: "complete", outcome: followed.outcome };
  return { kind: "park", sleep_ms: 30_000 };
}

describe("plain producers whose task runs elsewhere", () => {
  it("all get its outcome from their own jobs when it settles", async () => {
    const connection = () => bench.ledger.connection("producer");
    const prefix = `${bench.prefix}_bull`;
    const producer = new Queue("tasks", { connection: connection(), prefix });
    const events = new QueueEvents("tasks", { connection: connection(), prefix, lastEventId: "0-0" });
    await events.waitUntilReady();
    const task = await bench.client.submit({ ...REQUEST, task_id: "shared" });
    const held = await bench.grant(task);
    const handled = await handleWith(bench, followElsewhere);
    handled.consumer.setSlots(4);

    const jobs = await Promise.all([1, 2, 3].map((k) => producer.add(`p${k}`, { ...REQUEST, task_id: "shared" })));
    const outcomes: Promise<Outcome>[] = jobs.map((job) => job.waitUntilFinished(events, 10_000));
    await waitFor(async () => (await bench.queue.counts("tasks")).parked === 3, {
      bound_ms: 5_000,
      what: "three followers sleep",
    });
    await bench.settle(held, { exit_code: 7, status: "FAILED" });

    for (const outcome of await Promise.all(outcomes)) {
      expect(outcome).toMatchObject({ task_id: "shared", status: "FAILED", exit_code: 7 });
    }
    await Promise.all([producer.close(), events.close(), handled.consumer.close(2_000)]);
  });
});
