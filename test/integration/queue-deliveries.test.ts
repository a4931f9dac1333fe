import { healDelivery } from "@holdfast/queue";
import { Queue, QueueEvents } from "bullmq";
import { describe, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { complete, deliveryOf, gate, handleWith, outcomeOf, taskOf, useQueueBenches } from "./queue-bench.js";

const bench = useQueueBenches();

describe("a delivery on the shared queue", () => {
  it("is one job, however often it is delivered, and a later delivery is another", async () => {
    const { queue, ...rest } = bench();
    for (let k = 0; k < 5; k += 1) await queue.deliver(deliveryOf("task_a"));
    await queue.deliver(deliveryOf("task_a", 2));
    expect(await queue.counts("tasks")).toEqual({ waiting: 2, active: 0, parked: 0, paused: false });

    const handled = await handleWith({ queue, ...rest }, complete);
    handled.consumer.setSlots(1);
    await handled.seenAtLeast(2);

    expect(handled.seen).toEqual([
      {
        kind: "delivery",
        name: { workspace_id: "default", task_id: "task_a" },
        delivery: 1,
        job_id: "default.task_a.1",
      },
      {
        kind: "delivery",
        name: { workspace_id: "default", task_id: "task_a" },
        delivery: 2,
        job_id: "default.task_a.2",
      },
    ]);
  });

  it("goes through the states waiting, active, parked, finished and gone", async () => {
    const opened = bench();
    const { queue } = opened;
    const first = gate();
    let parks = true;
    const state = () => queue.state("tasks", "default.task_a.1");
    const stateIs = (wanted: string) =>
      waitFor(async () => (await state()) === wanted, { bound_ms: 5_000, what: `the job is ${wanted}` });
    expect(await state()).toBe("gone");
    await queue.deliver(deliveryOf("task_a"));
    expect(await state()).toBe("waiting");

    const handled = await handleWith(opened, async (envelope) => {
      if (!parks) return complete(envelope);
      await first.opened;
      return { kind: "park", sleep_ms: 30_000 };
    });
    handled.consumer.setSlots(1);
    await stateIs("active");
    first.open();
    await stateIs("parked");
    expect(await queue.counts("tasks")).toEqual({ waiting: 0, active: 0, parked: 1, paused: false });
    parks = false;
    await queue.promote([{ ...deliveryOf("task_a") }]);
    await stateIs("finished");
  });

  it("is told to wait where more than a thousand do, without a search, and to be gone where it is", async () => {
    const { queue } = bench();
    const names = Array.from({ length: 1_001 }, (_, n) => `task_${n}`);
    await Promise.all(names.map((name) => queue.deliver(deliveryOf(name))));

    expect(await queue.state("tasks", "default.task_7.1")).toBe("waiting");
    expect(await queue.state("tasks", "default.task_7.2")).toBe("gone");
  });

  it("is added for no delivery that a plain producer's job carries", async () => {
    const { queue } = bench();

    await queue.deliver({ ...deliveryOf("task_a"), job_id: "41" });

    expect(await queue.counts("tasks")).toEqual({ waiting: 0, active: 0, parked: 0, paused: false });
  });

  it("completes with the outcome without output text, or as stale", async () => {
    const opened = bench();
    await opened.queue.deliver(deliveryOf("task_a"));
    await opened.queue.deliver(deliveryOf("task_b"));
    const handled = await handleWith(opened, (envelope) =>
      taskOf(envelope) === "task_a" ? complete(envelope) : { kind: "stale" },
    );
    handled.consumer.setSlots(2);
    const board = opened.queue.boardQueue();
    await waitFor(async () => (await board.getCompletedCount()) === 2, { bound_ms: 5_000, what: "both complete" });

    const done = (await board.getJob("default.task_a.1"))?.returnvalue;
    expect(done).toMatchObject({ status: "SUCCEEDED", stdout: { text: null, total_bytes: 13 } });
    expect((await board.getJob("default.task_b.1"))?.returnvalue).toEqual({ stale: true });
  });
});

describe("a job that cannot be used", () => {
  it("fails once with the message, and with no path of ours (AT-G4)", async () => {
    const opened = bench();
    const board = opened.queue.boardQueue();
    const jobs = await Promise.all([board.add("delivery", "text"), board.add("x", { holdfast: 9 }, { attempts: 5 })]);
    const handled = await handleWith(opened, (envelope) =>
      envelope.kind === "malformed" ? { kind: "reject", message: envelope.message } : { kind: "stale" },
    );
    handled.consumer.setSlots(2);
    await waitFor(async () => (await board.getFailedCount()) === 2, { bound_ms: 5_000, what: "both fail" });
    await opened.queue.deliver(deliveryOf("task_after"));
    await handled.seenAtLeast(3);

    expect(handled.seen).toHaveLength(3);
    for (const { id } of jobs) {
      const job = await board.getJob(`${id}`);
      expect(job?.failedReason).toMatch(/^The job/);
      expect(JSON.stringify(job?.asJSON())).not.toContain("packages/");
    }
  });

  it("fails likewise where its stored data is no JSON", async () => {
    const opened = bench();
    const board = opened.queue.boardQueue();
    await board.add("x", {}, { jobId: "spoilt" });
    await opened.connect().hset(board.toKey("spoilt"), "data", "{no json");
    const handled = await handleWith(opened, (envelope) => ({ kind: "reject", message: `${envelope.kind}` }));
    handled.consumer.setSlots(1);

    await waitFor(async () => (await opened.queue.state("tasks", "spoilt")) === "finished", {
      bound_ms: 5_000,
      what: "the job fails",
    });
    expect(handled.seen).toMatchObject([{ kind: "malformed", job_id: "spoilt" }]);
  });

  it("is parked for a while where its handler fails unexpectedly", async () => {
    const opened = bench();
    await opened.queue.deliver(deliveryOf("task_a"));
    const handled = await handleWith(opened, () => {
      throw new Error("unexpected");
    });
    handled.consumer.setSlots(1);

    await waitFor(async () => (await opened.queue.state("tasks", "default.task_a.1")) === "parked", {
      bound_ms: 5_000,
      what: "the job is parked",
    });
    expect(handled.notices.map(({ event }) => event)).toContain("handler_failed");
  });
});

it("a job whose sleep is over waits, though nobody has fetched since (the watchdog counts it)", async () => {
  const opened = bench();
  await opened.queue.boardQueue().add("x", {}, { delay: 50 });
  await opened.queue.boardQueue().add("x", {}, { delay: 3_600_000 });

  const due = async () => (await opened.queue.counts("tasks")).waiting === 1;
  await waitFor(due, { bound_ms: 5_000, what: "the first is due" });
  expect(await opened.queue.counts("tasks")).toEqual({ waiting: 1, active: 0, parked: 1, paused: false });
});

describe("a job that was laid down by hand", () => {
  it("for longer than ours sleep is woken by healing; somebody else's under an id of ours is none of ours", async () => {
    const opened = bench();
    const tasks = { redeliver: async () => null };
    await opened.queue.deliver(deliveryOf("task_a"));
    const handled = await handleWith(opened, () => ({ kind: "park", sleep_ms: 3_600_000 }));
    handled.consumer.setSlots(1);
    const state = () => opened.queue.state("tasks", "default.task_a.1");
    await waitFor(async () => (await state()) === "delayed", { bound_ms: 5_000, what: "it sleeps" });
    await handled.consumer.close(1_000);
    await opened.queue.boardQueue().add("squat", {}, { jobId: "default.task_b.1", delay: 3_600_000 });

    expect(await healDelivery(opened.queue, tasks, deliveryOf("task_a"))).toEqual({ kind: "woken", state: "delayed" });
    expect(await state()).toBe("waiting");
    expect(await opened.queue.state("tasks", "default.task_b.1")).toBe("gone");
  });
});

describe("a job that lay down while it was called", () => {
  it("is woken at once, and one that was not sleeps on", async () => {
    const opened = bench();
    const called = new Set(["task_called"]);
    for (const task of ["task_called", "task_quiet"]) await opened.queue.deliver(deliveryOf(task));
    const parking = await handleWith(opened, (envelope) => {
      const task = taskOf(envelope);
      return { kind: "park", sleep_ms: 60_000, overslept: async () => called.delete(task) };
    });
    parking.consumer.setSlots(2);
    await parking.seenAtLeast(3);
    await waitFor(async () => (await opened.queue.counts("tasks")).parked === 2, {
      bound_ms: 5_000,
      what: "both sleep",
    });

    expect(parking.seen.map(taskOf).sort()).toEqual(["task_called", "task_called", "task_quiet"]);
  });
});

describe("a plain producer", () => {
  it("waits with stock BullMQ for the outcome, and its job sleeps as a follower meanwhile", async () => {
    const opened = bench();
    const { prefix } = opened;
    const producer = new Queue("tasks", { connection: opened.connect(), prefix });
    const events = new QueueEvents("tasks", { connection: opened.connect(), prefix, lastEventId: "0-0" });
    await events.waitUntilReady();
    let ended = false;
    const handled = await handleWith(opened, () =>
      ended ? { kind: "complete", outcome: outcomeOf("task_x") } : { kind: "park", sleep_ms: 30_000 },
    );
    handled.consumer.setSlots(1);

    const request = { image: "shell:1", command: ["true"] };
    const job = await producer.add("anything", request);
    const finished = job.waitUntilFinished(events, 10_000);
    await waitFor(() => opened.queue.state("tasks", `${job.id}`).then((state) => state === "parked"), {
      bound_ms: 5_000,
      what: "the follower sleeps",
    });
    ended = true;
    await opened.queue.promote([{ ...deliveryOf("task_x"), job_id: `${job.id}` }]);

    expect(await finished).toMatchObject({ status: "SUCCEEDED", stdout: { text: null } });
    expect(handled.seen).toHaveLength(2);
    const [first, second] = handled.seen;
    expect(first).toMatchObject({ kind: "plain", request, job_id: job.id });
    expect(second).toEqual(first);
    await Promise.all([producer.close(), events.close()]);
  });

  it("finds our workers by name with stock BullMQ", async () => {
    const opened = bench();
    const handled = await handleWith(opened, complete);
    handled.consumer.setSlots(1);
    const board = opened.queue.boardQueue();

    const workers = await waitFor(
      async () => {
        const found = await board.getWorkers();
        return found.length > 0 ? found : null;
      },
      { bound_ms: 5_000, what: "a worker is listed" },
    );
    expect(workers[0]?.["rawname"]).toMatch(/:w:boot_/);
  });
});
