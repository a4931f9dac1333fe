/** Plain producers whose worker dies under their task: each still gets the outcome from its own job (T1, T2). */
import { taskIdSchema } from "@holdfast/contract";
import { deriveTaskId } from "@holdfast/queue";
import { afterAll, beforeAll, expect, it } from "vitest";
import { SHELL_IMAGE } from "../support/fleet.js";
import { openPlainProducer, type PlainJob, type PlainProducer, VERSIONS } from "../support/plain-producer.js";
import { waitFor } from "../support/wait-for.js";
import { openRecoveryBench, type RecoveryBench } from "./recovery-bench.js";

const LONG = { image: SHELL_IMAGE, command: ["sleep", "300"] };
const RECOVERED_MS = 60_000;
/** A wake-up that is lost costs a sleep of 30 s. */
const ANSWERED_MS = 20_000;

let bench: RecoveryBench;
let producers: PlainProducer[];
beforeAll(async () => {
  bench = await openRecoveryBench({ HOLDFAST_SLOTS: "8" });
  const { REDIS_URL: url = "", HOLDFAST_QUEUE_PREFIX: prefix = "" } = bench.env;
  producers = await Promise.all(VERSIONS.map((version) => openPlainProducer({ url, prefix, version })));
});
afterAll(async () => {
  await Promise.all(producers.map((producer) => producer.close()));
  await bench.close();
});

const derived = ({ id, timestamp }: PlainJob) => taskIdSchema.parse(deriveTaskId("tasks", id, timestamp));

async function runs(task_id: string, attempt: number): Promise<void> {
  const running = async () => {
    const view = await bench.client.status({ task_id });
    return view.attempt === attempt && view.events >= 2 * attempt;
  };
  await waitFor(running, { bound_ms: RECOVERED_MS, what: `attempt ${attempt} of ${task_id} runs` });
}

it("with and without a task_id of their own, twice the same, and where another's task ends while they sleep", async () => {
  const killed = await bench.worker();
  const [six, five] = producers;
  if (six === undefined || five === undefined) throw new Error("no producer");
  const unnamed = await Promise.all(producers.map((producer) => producer.add(LONG)));
  const named = await five.add({ ...LONG, task_id: "named" });
  const once = await six.add({ ...LONG, task_id: "last_try", attempts_max: 1 });
  const others = await bench.submit("sleep 300", { task_id: "of_a_client" });
  const ids = [...unnamed.map(derived), "named", "last_try", "of_a_client"];
  await Promise.all(ids.map((id) => runs(id, 1)));
  const same = await Promise.all(producers.map((producer) => producer.add({ ...LONG, task_id: "named" })));
  const body = { ...LONG, command: ["sh", "-c", "sleep 300"], task_id: "of_a_client" };
  const followers = await Promise.all(producers.map((producer) => producer.add(body)));
  for (const job of [...same, ...followers]) {
    await waitFor(async () => (await job.state()) === "delayed", { bound_ms: 10_000, what: "a follower sleeps" });
  }
  await bench.worker();

  await killed.signal("SIGKILL");
  expect(await once.finished).toMatchObject({ status: "FAILED", attempt: 1, error: { code: "ATTEMPTS_EXHAUSTED" } });
  await Promise.all(ids.filter((id) => id !== "last_try").map((id) => runs(id, 2)));
  const owners = [...unnamed, named];
  for (const job of owners) {
    await waitFor(async () => (await job.state()) === "delayed", { bound_ms: 30_000, what: "an owner follows" });
  }
  const cancelled = performance.now();
  for (const task_id of [...unnamed.map(derived), "named", "of_a_client"]) await bench.client.cancel({ task_id });

  for (const job of [...owners, ...same, ...followers]) {
    expect(await job.finished).toMatchObject({ status: "CANCELLED", ran: true, attempt: 2 });
  }
  expect(performance.now() - cancelled, "woken, not found by chance").toBeLessThan(ANSWERED_MS);
  expect((await bench.client.outcome(others)).attempt).toBe(2);
}, 180_000);
