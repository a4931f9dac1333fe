/** A host out of service: its workers end what runs and take nothing, and what waits goes elsewhere, or waits. */
import { drawTaskId, parseTaskRequest } from "@holdfast/contract";
import { bootQueue, type Delivery, type Grant, type Ledger, openLedger } from "@holdfast/ledger";
import { openTaskQueue, SHARED_QUEUE, type TaskQueue } from "@holdfast/queue";
import { type RunningWorker, readWorkerConfig, startWorker } from "@holdfast/worker";
import type { Redis } from "ioredis";
import { afterEach, beforeEach, expect, it } from "vitest";
import { SHELL_IMAGE, startFleet, type TestFleet } from "../support/fleet.js";
import { type LedgerHost, openLedgerHost } from "../support/ledger-host.js";
import { waitFor } from "../support/wait-for.js";

const SLOTS = 2;
/** A host with room for one of the tasks here, but not for two. */
const ROOM_FOR_ONE_MB = 1_000;
const shell = (line: string) => ({ image: SHELL_IMAGE, command: ["sh", "-c", line] });

let fleet: TestFleet;
let ledger: Ledger;
let queue: TaskQueue;
let redis: Redis;
let other: LedgerHost | undefined;

beforeEach(async () => {
  fleet = await startFleet({ slots: SLOTS });
  const { REDIS_URL = "", HOLDFAST_PREFIX = "", HOLDFAST_QUEUE_PREFIX = "" } = fleet.env;
  ledger = await openLedger({ url: REDIS_URL, prefix: HOLDFAST_PREFIX, role: "test" });
  queue = openTaskQueue({ ledger, prefix: HOLDFAST_QUEUE_PREFIX });
  redis = ledger.connection("test");
});
afterEach(async () => {
  other?.die();
  await queue.close();
  await ledger.close();
  await fleet.stopAndExpectNothingLeft();
});

const isReady = async ({ health_port }: RunningWorker): Promise<boolean> =>
  (await fetch(`http://127.0.0.1:${health_port}/readyz`)).status === 200;

async function drained(worker: RunningWorker): Promise<void> {
  await fleet.client.drain(worker.host_id);
  await waitFor(() => worker.host_draining, { bound_ms: 10_000, what: "the worker has heard of it" });
}

it("what runs ends as usual, what waits goes on when the host is back, and no restart ends the drain (T2)", async () => {
  const { client, worker } = fleet;
  const running = await fleet.start(shell("while [ ! -e /workspace/go ]; do sleep 0.1; done"));
  const ends = await fleet.start(shell("sleep 1; echo done"));
  await drained(worker);
  const waiting = await client.submit(shell("echo later"));

  expect(await client.outcome(ends)).toMatchObject({ status: "SUCCEEDED", attempt: 1, stdout: { text: "done\n" } });
  expect(await isReady(worker)).toBe(false);
  const second = await startWorker(readWorkerConfig(fleet.env));
  try {
    expect([second.host_id, second.host_draining, await isReady(second)]).toEqual([worker.host_id, true, false]);
    expect(await client.hosts()).toMatchObject([{ draining: true, boots: [{ state: "LIVE" }, { state: "LIVE" }] }]);
    expect((await client.status(waiting)).waiting).toMatchObject({ reason: "draining" });
    expect(await queue.counts(SHARED_QUEUE)).toMatchObject({ waiting: 1, parked: 0 });
    expect((await client.status(running)).status).toBe("RUNNING");

    await client.undrain(worker.host_id);
    expect(await client.outcome(waiting)).toMatchObject({ status: "SUCCEEDED", attempt: 1 });
    await waitFor(async () => (await isReady(worker)) && isReady(second), { bound_ms: 10_000, what: "both are ready" });
  } finally {
    await client.cancel(running);
    await client.outcome(running);
    await second.stop();
  }
});

it("jobs that slip through are handed back once each, and not fetched again and again", async () => {
  const { client, worker } = fleet;
  // Without a bell: until its next beat the worker fetches, and is answered by admit.
  await redis.hset(`{${ledger.prefix}}:host:${worker.host_id}`, "draining", "1");
  const tasks = await Promise.all(Array.from({ length: 12 }, (_, n) => client.submit(shell(`echo ${n}`))));
  await waitFor(() => worker.host_draining, { bound_ms: 10_000, what: "the worker has heard of it" });
  const back = async () => (await queue.counts(SHARED_QUEUE)).waiting === tasks.length;
  await waitFor(back, { bound_ms: 10_000, what: "all wait again" });

  const jobs = tasks.map(({ workspace_id, task_id }) => `${workspace_id}.${task_id}.1`);
  const fetched = await Promise.all(
    jobs.map(async (job) => Number(await redis.hget(`${fleet.env["HOLDFAST_QUEUE_PREFIX"]}:tasks:${job}`, "ats"))),
  );
  expect(fetched.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(SLOTS + 1);

  await client.undrain(worker.host_id);
  for (const task of tasks) expect(await client.outcome(task)).toMatchObject({ status: "SUCCEEDED", attempt: 1 });
});

/** Accepted by the ledger, but on no queue: nobody but the test brings it to admit at first. */
async function acceptQuietly(): Promise<Delivery> {
  const parsed = parseTaskRequest({ ...shell("echo moved"), task_id: drawTaskId() });
  if (parsed.kind === "refused") throw new Error("the request of this test is not valid");
  const reply = await ledger.tasks.accept(parsed.request, { queue: SHARED_QUEUE, job_id: null });
  if (reply.kind !== "accepted") throw new Error(`accept answered ${reply.kind}`);
  return reply.delivery;
}

async function endAtOnce(grant: Grant): Promise<void> {
  await fleet.client.cancel(grant);
  await ledger.tasks.release(grant);
}

/** Fetches from the shared queue as that host's worker would, and ends what it is granted. */
async function takeBy(host: LedgerHost, granted: string[]) {
  const consumer = await queue.consume({
    queue: SHARED_QUEUE,
    boot_id: host.boot_id,
    handle: async (envelope) => {
      if (envelope.kind !== "delivery") throw new Error(envelope.kind);
      const reply = await host.admit({ ...envelope.name, delivery: envelope.delivery });
      if (reply.kind !== "granted") return { kind: "park", sleep_ms: 1_000 };
      granted.push(reply.grant.task_id);
      await endAtOnce(reply.grant);
      return { kind: "stale" };
    },
  });
  consumer.setSlots(1);
  return consumer;
}

it("what was sent to a boot of it, and what waits for it, is taken by another host (T2)", async () => {
  const { client, worker } = fleet;
  other = await openLedgerHost(ledger, ROOM_FOR_ONE_MB);
  const first = await other.admit(await acceptQuietly());
  if (first.kind !== "granted") throw new Error(first.kind);
  const sent = await other.admit(await acceptQuietly());
  if (sent.kind !== "elsewhere") throw new Error(sent.kind);
  expect(sent.delivery.queue).toBe(bootQueue(worker.boot_id));
  await endAtOnce(first.grant);

  await drained(worker);
  const waits = await client.submit(shell("echo waits"));
  const granted: string[] = [];
  const consumer = await takeBy(other, granted);
  await waitFor(() => granted.length === 2, { bound_ms: 20_000, what: "the other host was granted both" });

  await consumer.close(2_000);
  expect(granted.toSorted()).toEqual([sent.delivery.task_id, waits.task_id].toSorted());
  expect(await client.status(sent.delivery)).toMatchObject({ status: "CANCELLED", attempt: 1, delivery: 3 });
  expect(await queue.counts(bootQueue(worker.boot_id))).toMatchObject({ waiting: 0, active: 0, parked: 0 });
});
