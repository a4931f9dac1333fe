/** What any BullMQ client may do to the shared queue: each job ends, its producer hears why, nobody else notices. */
import { type Outcome, taskIdSchema } from "@holdfast/contract";
import { deriveTaskId } from "@holdfast/queue";
import { FlowProducer, Queue } from "bullmq";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SHELL_IMAGE, startFleet, type TestFleet } from "../support/fleet.js";
import { openPlainProducer, type PlainProducer, VERSIONS } from "../support/plain-producer.js";
import { waitFor } from "../support/wait-for.js";

const OK = { image: SHELL_IMAGE, command: ["true"] };
const SUCCEEDED = { status: "SUCCEEDED", attempt: 1 };

let fleet: TestFleet;
let prefix: string;
let stock: Queue;
const producers = new Map<string, PlainProducer>();
const of = (version: string): PlainProducer => {
  const producer = producers.get(version);
  if (producer === undefined) throw new Error(`no producer of ${version}`);
  return producer;
};

beforeAll(async () => {
  fleet = await startFleet();
  const { REDIS_URL: url = "", HOLDFAST_QUEUE_PREFIX = "" } = fleet.env;
  prefix = HOLDFAST_QUEUE_PREFIX;
  for (const version of VERSIONS) producers.set(version, await openPlainProducer({ url, prefix, version }));
  stock = new Queue("tasks", { connection: of("6").redis, prefix });
});
afterAll(async () => {
  const left = await stock.getJobCounts("waiting", "active", "delayed", "prioritized");
  await stock.close();
  await Promise.all([...producers.values()].map((producer) => producer.close()));
  await fleet.stopAndExpectNothingLeft();
  expect(left).toEqual({ waiting: 0, active: 0, delayed: 0, prioritized: 0 });
});

async function endOf(id: string | undefined): Promise<{ outcome: Outcome | null; reason: string }> {
  const key = of("6").keyOf(`${id}`);
  await waitFor(() => of("6").redis.hget(key, "finishedOn"), { bound_ms: 20_000, what: `job ${id} ends` });
  const [value, reason] = await of("6").redis.hmget(key, "returnvalue", "failedReason");
  return { outcome: value ? JSON.parse(value) : null, reason: reason ?? "" };
}

describe.each(VERSIONS)("a producer with BullMQ %s", (version) => {
  it.each([
    ["nothing", null, /INVALID_REQUEST: The job's data must be an object/],
    ["a list", [OK], /INVALID_REQUEST: The job's data must be an object/],
    ["a number", 42, /INVALID_REQUEST: The job's data must be an object/],
    ["a text", "run this", /INVALID_REQUEST: The job's data must be an object/],
    ["no field", {}, /INVALID_REQUEST: image .*; command /],
    ["a field nobody knows", { ...OK, timeout_secs: 3 }, /INVALID_REQUEST: timeout_secs is not a known field/],
    ["a wrong value", { ...OK, timeout_seconds: "long" }, /INVALID_REQUEST: timeout_seconds /],
    [
      "the form of our own jobs",
      { holdfast: 1, workspace_id: "default", task_id: "x", delivery: 1 },
      /INVALID_REQUEST: /,
    ],
    ["a form of tomorrow", { holdfast: 2 }, /INVALID_REQUEST: The job is of a form/],
  ])("hears of data with %s what is wrong with it, once, whatever attempts it set", async (_, data, reason) => {
    const job = await of(version).add(data, { attempts: 3, backoff: 100 });

    await expect(job.finished).rejects.toThrow(reason);
    expect(await job.state()).toBe("failed");
  });

  it.each([
    ["attempts and backoff", { attempts: 5, backoff: 50 }],
    ["a delay", { delay: 300 }],
    ["a priority", { priority: 7 }],
    ["lifo", { lifo: true }],
    ["an id like ours", { jobId: "default.another.1" }],
    ["no wish to keep it", { removeOnComplete: true, removeOnFail: true }],
  ])("gets the outcome of a job with %s", async (_, options) => {
    expect(await (await of(version).add(OK, options)).finished).toMatchObject(SUCCEEDED);
  });

  it("gets a new task for a job id that it used, removed and used again, and the old end for one it did not remove", async () => {
    const first = await of(version).add(OK, { jobId: `used-${version}` });
    const once = await first.finished;
    const same = await of(version).add({ ...OK, command: ["false"] }, { jobId: `used-${version}` });
    expect(await same.finished).toEqual(once);
    await first.remove();
    const again = await (await of(version).add(OK, { jobId: `used-${version}` })).finished;

    expect(again).toMatchObject(SUCCEEDED);
    expect(again.task_id).not.toBe(once.task_id);
  });

  it("takes back a job that nobody has fetched yet: it never becomes a task", async () => {
    const job = await of(version).add({ ...OK, task_id: `taken-back-${version}` }, { delay: 3_600_000 });
    await job.remove();

    await expect(fleet.client.status({ task_id: `taken-back-${version}` })).rejects.toMatchObject({
      code: "TASK_NOT_FOUND",
    });
  });
});

describe("a job that BullMQ itself treats in another way", () => {
  it("as one of a schedule runs each time it is due", async () => {
    await stock.upsertJobScheduler("often", { every: 500, limit: 2 }, { name: "again", data: OK });
    const done = async () => (await stock.getCompleted()).filter(({ id }) => id?.startsWith("repeat:often:"));
    await waitFor(async () => (await done()).length === 2, { bound_ms: 20_000, what: "both runs end" });
    await stock.removeJobScheduler("often");

    for (const { returnvalue } of await done()) expect(returnvalue).toMatchObject(SUCCEEDED);
  });

  it.each([
    ["none", {}],
    ["one that no clock knows", { repeat: { pattern: "every full moon" } }],
    ["two at once", { repeat: { pattern: "* * * * *", every: 1_000 } }],
  ])("as of a schedule that is %s runs once", async (_, more) => {
    const job = await stock.add("x", OK, { delay: 3_600_000 });
    const options = JSON.stringify({ repeatJobKey: "unknown", ...more });
    await of("6").redis.hset(of("6").keyOf(`${job.id}`), "opts", options, "rjk", "unknown");
    await job.promote();

    expect((await endOf(job.id)).outcome).toMatchObject(SUCCEEDED);
  });

  it("as a parent runs when its children have ended, and not where one was refused", async () => {
    const flows = new FlowProducer({ connection: of("6").redis, prefix });
    const child = { name: "c", queueName: "tasks", data: OK };
    const bad = { ...child, data: { ...OK, timeout_secs: 1 }, opts: { failParentOnFailure: true } };
    const good = await flows.add({ name: "p", queueName: "tasks", data: OK, children: [child, child] });
    const spoilt = await flows.add({ name: "p", queueName: "tasks", data: OK, children: [child, bad] });

    expect((await endOf(good.job.id)).outcome).toMatchObject(SUCCEEDED);
    const { outcome, reason } = await endOf(spoilt.job.id);
    expect([outcome, reason]).toEqual([null, expect.stringMatching(/^child .* failed$/)]);
    await flows.close();
  });

  it("as a parent that got a child while it ran fails with BullMQ's words, and its task has its end", async () => {
    const job = await stock.add("x", { ...OK, command: ["sleep", "300"] });
    const task_id = taskIdSchema.parse(deriveTaskId("tasks", `${job.id}`, job.timestamp));
    const runs = async () => (await fleet.client.status({ task_id })).events >= 2;
    await waitFor(runs, { bound_ms: 20_000, what: "it runs" });
    for (let n = 0; n < 20; n += 1) await job.log(`line ${n}`);
    await job.updateProgress({ done: 1 });
    const parent = { id: `${job.id}`, queue: stock.qualifiedName };
    const child = await stock.add("child", OK, { parent, delay: 3_600_000 });
    await fleet.client.cancel({ task_id });

    expect((await endOf(job.id)).reason).toMatch(/pending dependencies/);
    expect(await fleet.client.outcome({ task_id })).toMatchObject({ status: "CANCELLED", attempt: 1 });
    await child.remove();
  });
});
