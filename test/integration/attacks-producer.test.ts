/** Attack catalogue, parts F, G and H: a plain BullMQ producer whose jobs are made to hurt whoever reads them. */
import { SHARED_QUEUE } from "@holdfast/queue";
import { type Job, Queue } from "bullmq";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SHELL_IMAGE, startFleet, type TestFleet } from "../support/fleet.js";
import { waitFor } from "../support/wait-for.js";

let fleet: TestFleet;
let redis: Redis;
let producer: Queue;
beforeAll(async () => {
  fleet = await startFleet();
  redis = new Redis(fleet.env["REDIS_URL"] ?? "");
  producer = new Queue(SHARED_QUEUE, { connection: redis, prefix: fleet.env["HOLDFAST_QUEUE_PREFIX"] ?? "" });
});
afterAll(async () => {
  await producer.close();
  redis.disconnect();
  await fleet.stopAndExpectNothingLeft();
});

const OK = { image: SHELL_IMAGE, command: ["true"] };
const keyOf = (job: Job): string => `${fleet.env["HOLDFAST_QUEUE_PREFIX"]}:${SHARED_QUEUE}:${job.id}`;
const textWith = (more: string): string => `${JSON.stringify(OK).slice(0, -1)},${more}}`;
const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

interface End {
  readonly state: string;
  readonly reason: string;
  readonly outcome: { readonly status: string; readonly error: { readonly code: string } | null } | null;
}

async function endOf(job: Job): Promise<End> {
  const ended = async (): Promise<string | null> => redis.hget(keyOf(job), "finishedOn");
  await waitFor(ended, { bound_ms: 15_000, what: "the job ends" });
  const [reason, value] = await redis.hmget(keyOf(job), "failedReason", "returnvalue");
  return { state: reason ? "failed" : "completed", reason: reason ?? "", outcome: value ? JSON.parse(value) : null };
}

/** A job whose stored data is this text, whatever a client would have written. */
async function send(text: string): Promise<End> {
  const job = await producer.add("x", {}, { delay: 3_600_000 });
  await redis.hset(keyOf(job), "data", text);
  await job.promote();
  return endOf(job);
}

describe("a job's data", () => {
  it.each([
    ["no JSON", "{"],
    ["nothing", ""],
    ["a list", "[1]"],
    ["a field of a megabyte (AT-H3)", textWith(`"${"k".repeat(1_000_000)}":1`)],
    ["an environment name of a megabyte", textWith(`"env":{"${"k".repeat(1_000_000)}":"1"}`)],
    ["400,000 variables (AT-F3)", textWith(`"env":{${Array.from({ length: 400_000 }, (_, n) => `"${n}":0`)}}`)],
    ["an image of four megabytes", `{"image":"${"a-".repeat(2_000_000)}!","command":["true"]}`],
    ["lists 100,000 deep (AT-D3)", `{"image":"${SHELL_IMAGE}","command":${nested(100_000)}}`],
    ["a prototype (AT-F3)", textWith('"__proto__":{"image":"x"}')],
    ["a number beyond all (AT-G1)", textWith('"timeout_seconds":1e400')],
    ["an id with a line break (AT-G1)", textWith('"task_id":"a\\r\\n*"')],
    ["a path that is no text (AT-C1)", textWith('"files":[{"path":"\\ud800","content":""}]')],
    ["a folder that is no text", textWith('"working_directory":"/\\ud800"')],
  ])("of %s is refused once, in few words, and hurts nobody else", async (_, text) => {
    const end = await send(text);

    expect(end).toMatchObject({ state: "failed", outcome: null });
    expect(end.reason.length).toBeLessThan(2_000);
    expect(Object.keys(Object.prototype), "no prototype was changed").toEqual([]);
  });

  it("of any of these kinds cost no beat, and the next task runs as ever (L3)", async () => {
    expect(await fleet.run(OK)).toMatchObject({ status: "SUCCEEDED", attempt: 1 });
    expect(fleet.missedBeats()).toBe(0);
    expect((await fleet.client.hosts()).map((host) => host.engine_healthy)).toEqual([true]);
  });
});

describe("a job's name and id (AT-G4)", () => {
  it.each(["__proto__", "delivery", "<script>alert(1)</script>", "a\r\nb", "x".repeat(100_000)])(
    "%#: say nothing, the request counts",
    async (name) => {
      const job = await producer.add(name, OK, { jobId: `${name.slice(0, 2_000)}.1` });

      expect(await endOf(job)).toMatchObject({ state: "completed", outcome: { status: "SUCCEEDED" } });
    },
  );

  it("that is kept for another's delivery does not keep its task from running", async () => {
    await endOf(await producer.add("squat", OK, { jobId: "default.victim.1" }));

    expect(await fleet.run({ ...OK, task_id: "victim" })).toMatchObject({ status: "SUCCEEDED" });
  });

  it("twenty times the same task_id is one task, and another body is refused (T2)", async () => {
    const jobs = await Promise.all(Array.from({ length: 20 }, () => producer.add("n", { ...OK, task_id: "same" })));
    for (const job of jobs) expect((await endOf(job)).outcome).toMatchObject({ status: "SUCCEEDED" });

    const other = await endOf(await producer.add("n", { ...OK, command: ["false"], task_id: "same" }));

    expect(other.outcome).toMatchObject({ status: "FAILED", error: { code: "TASK_CONFLICT" } });
  });
});
