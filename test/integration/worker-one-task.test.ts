/** The main job, whole: a request goes in at the queue's end and a committed outcome comes out (T1, T2, Q1). */
import { byteLength, type Outcome, parseTaskRequest } from "@holdfast/contract";
import { openLedger } from "@holdfast/ledger";
import { SHARED_QUEUE } from "@holdfast/queue";
import { Queue, QueueEvents } from "bullmq";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PYTHON_IMAGE, SHELL_IMAGE, startFleet, type TestFleet } from "../support/fleet.js";
import { waitFor } from "../support/wait-for.js";

let fleet: TestFleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(() => fleet?.stopAndExpectNothingLeft());

const shell = (line: string) => ({ image: SHELL_IMAGE, command: ["sh", "-c", line] });

describe("one task", () => {
  it("SUCCEEDED: runs in a fresh sandbox, streams its output, and everyone reads the same end (T1, V1)", async () => {
    const { outcome, live, events } = await fleet.runAndWatch({
      command: ["python3", "main.py"],
      files: [{ path: "main.py", content: "import sys\nprint(40+2)\nprint('oops', file=sys.stderr)" }],
    });

    expect(outcome).toMatchObject({
      status: "SUCCEEDED",
      exit_code: 0,
      signal: null,
      error: null,
      ran: true,
      attempt: 1,
      generation: 1,
      image: PYTHON_IMAGE,
      stdout: { text: "42\n", truncated: false, total_bytes: 3 },
      stderr: { text: "oops\n" },
      tree_receipt: { survivors: 0 },
    });
    expect(live.stdout.toString()).toBe("42\n");
    expect(events.map(({ kind }) => kind).filter((kind) => kind !== "task_log")).toEqual([
      "task_accepted",
      "task_started",
      "task_finished",
    ]);
    expect(events.at(-1)).toMatchObject({ status: "SUCCEEDED", exit_code: 0 });
  });

  it("FAILED: a nonzero exit code is the caller's and is told as it is", async () => {
    expect(await fleet.run(shell("echo no >&2; exit 7"))).toMatchObject({
      status: "FAILED",
      exit_code: 7,
      error: { code: "NONZERO_EXIT", fault: "user", retryable: false },
      stderr: { text: "no\n" },
    });
  });

  it("TIMEOUT: ends at its limit with the whole tree, and never as 0", async () => {
    const outcome = await fleet.run({ ...shell("sleep 60 & sleep 60"), timeout_seconds: 1 });

    expect(outcome).toMatchObject({
      status: "TIMEOUT",
      error: { code: "TIME_LIMIT", evidence: { timeout_seconds: 1 } },
      tree_receipt: { survivors: 0 },
    });
    expect(outcome.exit_code).not.toBe(0);
    expect(outcome.timing.run_ms).toBeGreaterThanOrEqual(1_000);
  });

  it("CANCELLED: a running command is ended within a second of the cancel, and its tree with it (T3)", async () => {
    const task = await fleet.start(shell("sleep 60 & echo on; wait"));
    const spoken = async () => (await fleet.client.status(task)).events > 2;
    await waitFor(spoken, { bound_ms: 10_000, what: "its first output is stored" });
    const asked = performance.now();

    expect((await fleet.client.cancel(task)).kind).toBe("requested");
    const outcome = await fleet.client.outcome(task);

    expect(performance.now() - asked).toBeLessThan(3_000);
    expect(outcome).toMatchObject({
      status: "CANCELLED",
      error: { code: "CANCELLED" },
      tree_receipt: { survivors: 0 },
    });
    expect(outcome.stdout.text).toBe("on\n");
  });

  it("OUT_OF_MEMORY: by the kernel's own count, with the limit named (O1)", async () => {
    const outcome = await fleet.run({
      command: ["python3", "-c", "a=[]\nwhile True: a.append(bytearray(8<<20))"],
      resources: { memory_mb: 64, disk_mb: 16 },
    });

    expect(outcome).toMatchObject({ status: "FAILED", error: { code: "OUT_OF_MEMORY", fault: "user" } });
    expect(outcome.error?.message).toContain("MiB");
  });

  it.each([
    [["no-such-tool-q"], 127, "COMMAND_NOT_FOUND"],
    [["/etc"], 126, "COMMAND_NOT_EXECUTABLE"],
  ])("%j is FAILED with exit code %i in one attempt, and stderr names it", async (command, exit_code, code) => {
    const outcome = await fleet.run({ image: SHELL_IMAGE, command });

    expect(outcome).toMatchObject({ status: "FAILED", exit_code, attempt: 1, error: { code } });
    expect(outcome.stderr.text).toContain(command[0]);
  });

  it("a working directory or file that cannot be is FAILED with its cause, and frees its slot at once (O-21)", async () => {
    const [directory, file] = await Promise.all([
      fleet.run({ ...shell("true"), working_directory: "/proc/nope" }),
      fleet.run({
        ...shell("true"),
        files: [
          { path: "a", content: "x" },
          { path: "a/b", content: "x" },
        ],
      }),
    ]);

    expect(directory).toMatchObject({ status: "FAILED", error: { code: "WORKING_DIRECTORY_INVALID" }, attempt: 1 });
    expect(file).toMatchObject({ status: "FAILED", error: { code: "FILE_NOT_WRITABLE" }, ran: false, attempt: 1 });
    await fleet.expectCapacityFree(10_000);
  });

  it("more output than an outcome keeps: head and tail, the true size, and a live stream that is whole", async () => {
    const { outcome, live } = await fleet.runAndWatch({
      command: ["python3", "-c", "for n in range(300_000): print(f'{n:09}')"],
    });

    expect(outcome.stdout).toMatchObject({ truncated: true, total_bytes: 3_000_000 });
    expect(byteLength(outcome.stdout.text ?? "")).toBeLessThan(1_100_000);
    expect(outcome.stdout.text).toMatch(/^000000000\n[\s\S]*\[truncated \d+ bytes\][\s\S]*000299999\n$/);
    expect(live.stdout.length).toBe(3_000_000);
  });
});

describe("a plain BullMQ producer", () => {
  async function produce<T>(use: (queue: Queue, events: QueueEvents) => Promise<T>): Promise<T> {
    const url = fleet.env["REDIS_URL"] ?? "";
    const connections = [0, 1].map(() => new Redis(url, { maxRetriesPerRequest: null }));
    const [connection, blocking] = connections;
    if (connection === undefined || blocking === undefined) throw new Error("no connection");
    const prefix = fleet.env["HOLDFAST_QUEUE_PREFIX"] ?? "";
    const queue = new Queue(SHARED_QUEUE, { connection, prefix });
    const events = new QueueEvents(SHARED_QUEUE, { connection: blocking, prefix });
    try {
      await events.waitUntilReady();
      return await use(queue, events);
    } finally {
      await events.close();
      await queue.close();
      for (const each of connections) each.disconnect();
    }
  }

  it("gets the outcome without output text from its own job", async () => {
    const outcome = await produce<Outcome>(async (queue, events) => {
      const job = await queue.add("anything", shell("echo hi"));
      return job.waitUntilFinished(events, 30_000);
    });

    expect(outcome).toMatchObject({ status: "SUCCEEDED", exit_code: 0, stdout: { text: null, total_bytes: 3 } });
  });

  it("two jobs that name one task run it once and both get its end (T2)", async () => {
    const request = { ...shell("echo once; sleep 1"), task_id: "task_named_twice" };
    const [first, second] = await produce(async (queue, events) => {
      const jobs = await Promise.all([queue.add("a", request), queue.add("b", request)]);
      return Promise.all(jobs.map((job) => job.waitUntilFinished(events, 50_000)));
    });

    expect(first).toMatchObject({ status: "SUCCEEDED", attempt: 1 });
    expect(second).toEqual(first);
  });

  it("a malformed request fails the job for good, with the field named", async () => {
    const failed = produce(async (queue, events) => {
      const job = await queue.add("bad", { ...shell("true"), timeout_secs: 3 });
      return job.waitUntilFinished(events, 30_000);
    });

    await expect(failed).rejects.toThrow(/timeout_secs/);
  });

  it("a refused request completes its job with a FAILED outcome, and nothing runs", async () => {
    const outcome = await produce<Outcome>(async (queue, events) => {
      const job = await queue.add("unlisted", { image: "unlisted:1", command: ["true"] });
      return job.waitUntilFinished(events, 30_000);
    });

    expect(outcome).toMatchObject({
      status: "FAILED",
      ran: false,
      error: { code: "IMAGE_NOT_ALLOWED", fault: "policy" },
    });
  });
});

describe("the ledger's doorbell and healing", () => {
  it("a task whose job was never added is delivered by a duty (T2)", async () => {
    const ledger = await openLedger({
      url: fleet.env["REDIS_URL"] ?? "",
      prefix: fleet.env["HOLDFAST_PREFIX"] ?? "",
      role: "test",
    });
    try {
      const parsed = parseTaskRequest({ ...shell("echo healed"), task_id: "task_never_enqueued" });
      if (parsed.kind !== "ok") throw new Error("not valid");
      await ledger.tasks.accept(parsed.request, { queue: SHARED_QUEUE, job_id: null });

      const outcome = await waitFor(
        () => fleet.client.outcome({ task_id: "task_never_enqueued" }, { wait_ms: 1_000 }),
        { bound_ms: 40_000, what: "the task that was never enqueued ends" },
      );

      expect(outcome).toMatchObject({ status: "SUCCEEDED" });
    } finally {
      await ledger.close();
    }
  });
});
