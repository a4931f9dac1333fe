/** What whoever holds the Redis of a queue may do to all of it: accepted tasks end all the same, once (T2). */
import type { TaskName } from "@holdfast/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { times } from "../faults/lab/use-fleet.js";
import { SHELL_IMAGE, startFleet, type TestFleet } from "../support/fleet.js";
import { openPlainProducer, type PlainProducer, VERSIONS } from "../support/plain-producer.js";
import { waitFor } from "../support/wait-for.js";

const OK = { image: SHELL_IMAGE, command: ["true"] };
const LONG = { image: SHELL_IMAGE, command: ["sleep", "300"] };
const SLOTS = 3;

let fleet: TestFleet;
const producers = new Map<string, PlainProducer>();
const of = (version: string): PlainProducer => {
  const producer = producers.get(version);
  if (producer === undefined) throw new Error(`no producer of ${version}`);
  return producer;
};

beforeAll(async () => {
  fleet = await startFleet({ slots: SLOTS });
  const { REDIS_URL: url = "", HOLDFAST_QUEUE_PREFIX: prefix = "" } = fleet.env;
  for (const version of VERSIONS) producers.set(version, await openPlainProducer({ url, prefix, version }));
});
afterAll(async () => {
  await Promise.all([...producers.values()].map((producer) => producer.close()));
  await fleet.stopAndExpectNothingLeft();
});

async function startsOf(task: TaskName): Promise<number> {
  let starts = 0;
  for await (const item of fleet.client.events(task)) if ("kind" in item && item.kind === "task_started") starts += 1;
  return starts;
}

describe.each(VERSIONS)("with BullMQ %s", (version) => {
  it("a queue that is paused keeps its tasks, and goes on when it is resumed", async () => {
    const producer = of(version);
    await producer.pause();
    const plain = await producer.add(OK);
    const task = await fleet.client.submit(OK);
    const looks = () => fleet.metric('holdfast_duty_runs_total{duty="consumption_watchdog"');
    const before = await looks();
    await waitFor(async () => (await looks()) > before, { bound_ms: 20_000, what: "the watchdog looked" });
    expect(await fleet.client.status(task)).toMatchObject({ status: "PENDING" });
    await producer.resume();

    expect(await plain.finished).toMatchObject({ status: "SUCCEEDED", attempt: 1 });
    expect(await fleet.client.outcome(task)).toMatchObject({ status: "SUCCEEDED", attempt: 1 });
    expect(await fleet.metric("holdfast_consumer_rebuilds_total")).toBe(0);
  });

  it("a queue that is obliterated with all in it loses no accepted task, waiting or running, and runs none twice", async () => {
    const running = await Promise.all(Array.from({ length: SLOTS }, () => fleet.start(LONG)));
    const waiting = await Promise.all([1, 2, 3, 4].map(() => fleet.client.submit(OK)));

    await of(version).obliterate();
    for (const task of running) await fleet.client.cancel(task);

    for (const task of waiting) {
      expect(await fleet.client.outcome(task)).toMatchObject({ status: "SUCCEEDED", attempt: 1 });
      expect(await startsOf(task)).toBe(1);
    }
    for (const task of running) {
      expect(await fleet.client.outcome(task)).toMatchObject({ status: "CANCELLED", attempt: 1 });
    }
  });
});

describe("a single job", () => {
  it("that sleeps under the id of another's delivery holds up nobody", async () => {
    const squat = await of("6").add(OK, { jobId: "default.held_up.1", delay: 3_600_000 });

    expect(await fleet.run({ ...OK, task_id: "held_up" })).toMatchObject({ status: "SUCCEEDED", attempt: 1 });
    await squat.remove();
  });

  it.each(times<string[]>([], ["5"]))(
    "whose lock is lost comes again and joins what runs (BullMQ %s)",
    async (version) => {
      const job = await of(version).add({ ...LONG, task_id: "unlocked" });
      const task = { task_id: "unlocked" };
      await waitFor(async () => (await fleet.client.status(task)).events >= 2, { bound_ms: 20_000, what: "it runs" });
      const { redis, keyOf } = of(version);
      const admits = () => fleet.metric("holdfast_admits_total");
      const before = await admits();
      const unlocked = async () => {
        await redis.del(`${keyOf(job.id)}:lock`);
        return (await redis.hget(keyOf(job.id), "ats")) === "2";
      };
      await waitFor(unlocked, { bound_ms: 40_000, what: "it is fetched again" });
      await waitFor(async () => (await admits()) > before, { bound_ms: 10_000, what: "it is asked for again" });
      await fleet.client.cancel(task);

      expect(await job.finished).toMatchObject({ status: "CANCELLED", attempt: 1 });
      expect(await startsOf(await fleet.client.status(task))).toBe(1);
    },
  );
});
