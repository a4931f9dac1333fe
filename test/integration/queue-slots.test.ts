import { type Envelope, SHARED_QUEUE } from "@holdfast/queue";
import { describe, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { complete, deliveryOf, gate, handleWith, type QueueBench, taskOf, useQueueBenches } from "./queue-bench.js";

const bench = useQueueBenches();
const PARK = { kind: "park", sleep_ms: 60_000 } as const;

async function allParked({ queue }: QueueBench, count: number): Promise<void> {
  await waitFor(async () => (await queue.counts(SHARED_QUEUE)).parked === count, {
    bound_ms: 5_000,
    what: `${count} jobs are parked`,
  });
}

describe("slots", () => {
  it("are never exceeded, and all are used", async () => {
    const opened = bench();
    const held = gate();
    let most = 0;
    for (let k = 0; k < 12; k += 1) await opened.queue.deliver(deliveryOf(`task_${k}`));
    const handled = await handleWith(opened, async (envelope) => {
      most = Math.max(most, handled.underWay());
      await held.opened;
      return complete(envelope);
    });
    handled.consumer.setSlots(3);
    await handled.seenAtLeast(3);
    expect(handled.underWay()).toBe(3);
    expect((await opened.queue.counts(SHARED_QUEUE)).waiting).toBe(9);
    held.open();
    await handled.seenAtLeast(12);

    expect(most).toBe(3);
  });

  it("that are added while every job under way goes on are used at once", async () => {
    const opened = bench();
    const held = gate();
    for (let k = 0; k < 4; k += 1) await opened.queue.deliver(deliveryOf(`task_${k}`));
    const handled = await handleWith(opened, async (envelope) => {
      await held.opened;
      return complete(envelope);
    });
    handled.consumer.setSlots(1);
    await handled.seenAtLeast(1);
    handled.consumer.setSlots(2);
    await handled.seenAtLeast(2);
    handled.consumer.setSlots(4);
    await handled.seenAtLeast(4);

    expect(handled.underWay()).toBe(4);
    held.open();
  });

  it("at none fetch nothing, and fetch again when there are some", async () => {
    const opened = bench();
    const held = gate();
    const handled = await handleWith(opened, async (envelope) => {
      if (taskOf(envelope) === "task_long") await held.opened;
      return complete(envelope);
    });
    await opened.queue.deliver(deliveryOf("task_long"));
    await opened.queue.deliver(deliveryOf("task_a"));
    handled.consumer.setSlots(1);
    await handled.seenAtLeast(1);
    handled.consumer.pause();
    held.open();
    await waitFor(() => opened.queue.state(SHARED_QUEUE, "default.task_long.1").then((state) => state === "finished"), {
      bound_ms: 5_000,
      what: "the job under way completes",
    });
    expect(handled.seen).toHaveLength(1);
    expect(await opened.queue.state(SHARED_QUEUE, "default.task_a.1")).toBe("waiting");

    for (let k = 0; k < 20; k += 1) {
      handled.consumer.setSlots(1);
      handled.consumer.setSlots(0);
    }
    handled.consumer.setSlots(1);
    await handled.seenAtLeast(2);
  });

  it("that end while a fetch waits may let one job more through, and it is handled", async () => {
    const opened = bench();
    const handled = await handleWith(opened, () => ({ kind: "give_back" }));
    handled.consumer.setSlots(1);
    const { connection, blocked } = { connection: opened.connect(), blocked: /blocked_clients:1/ };
    await waitFor(async () => blocked.test(await connection.info("clients")), {
      bound_ms: 5_000,
      what: "a fetch waits",
    });
    handled.consumer.pause();
    await opened.queue.deliver(deliveryOf("task_a"));
    await opened.queue.deliver(deliveryOf("task_b"));
    await handled.seenAtLeast(1);
    await waitFor(() => handled.underWay() === 0, { bound_ms: 5_000, what: "the straggler is answered" });

    expect(handled.seen).toHaveLength(1);
    await waitFor(async () => (await opened.queue.counts(SHARED_QUEUE)).waiting === 2, {
      bound_ms: 5_000,
      what: "the straggler waits again",
    });
  });

  it("are counted for two consumers apart", async () => {
    const opened = bench();
    const held = gate();
    const answer = async (envelope: Envelope) => {
      await held.opened;
      return complete(envelope);
    };
    const handled = [await handleWith(opened, answer), await handleWith(opened, answer)];
    for (let k = 0; k < 6; k += 1) await opened.queue.deliver(deliveryOf(`task_${k}`));
    for (const { consumer } of handled) consumer.setSlots(2);
    await Promise.all(handled.map((one) => one.seenAtLeast(2)));

    expect(handled.map((one) => one.underWay())).toEqual([2, 2]);
    held.open();
  });
});

describe("a parked job", () => {
  it("goes ahead of new ones when it is promoted, the first named first", async () => {
    const opened = bench();
    let parks = true;
    const handled = await handleWith(opened, (envelope) => (parks ? PARK : complete(envelope)));
    for (const task of ["old_1", "old_2", "old_3"]) await opened.queue.deliver(deliveryOf(task));
    handled.consumer.setSlots(1);
    await allParked(opened, 3);
    handled.consumer.setSlots(0);
    parks = false;
    await waitFor(async () => (await opened.connect().info("clients")).includes("blocked_clients:0"), {
      bound_ms: 8_000,
      what: "no fetch waits any more",
    });
    const board = opened.queue.boardQueue();
    await board.add("plain", { image: "shell:1" }, { jobId: "new_plain" });
    await opened.queue.deliver(deliveryOf("new_ours"));

    const woken = await opened.queue.promote([deliveryOf("old_1"), deliveryOf("old_2"), deliveryOf("old_3")]);
    expect(woken).toBe(3);
    handled.seen.length = 0;
    handled.consumer.setSlots(1);
    await handled.seenAtLeast(5);

    expect(handled.seen.map(taskOf)).toEqual(["old_1", "old_2", "old_3", "new_plain", "new_ours"]);
  });

  it("wakes by itself when its sleep is over, and goes ahead if it is promoted then", async () => {
    const opened = bench();
    const held = gate();
    let parks = true;
    const handled = await handleWith(opened, async (envelope) => {
      if (taskOf(envelope) === "blocker") await held.opened;
      else if (parks) return { kind: "park", sleep_ms: 300 };
      return complete(envelope);
    });
    await opened.queue.deliver(deliveryOf("sleeper"));
    await opened.queue.deliver(deliveryOf("blocker"));
    handled.consumer.setSlots(1);
    await handled.seenAtLeast(2);
    parks = false;
    for (const task of ["new_1", "new_2"]) await opened.queue.deliver(deliveryOf(task));
    const board = opened.queue.boardQueue();
    await board.getBackend().promote("default.sleeper.1");
    expect((await board.getWaiting(0, -1)).map((job) => job.id)).toHaveLength(3);
    await opened.queue.promote([deliveryOf("sleeper")]);
    held.open();
    await handled.seenAtLeast(5);

    expect(handled.seen.slice(2).map(taskOf)).toEqual(["sleeper", "new_1", "new_2"]);
  });

  it("is fetched after its sleep without any promotion", async () => {
    const opened = bench();
    let parks = true;
    const handled = await handleWith(opened, (envelope) => {
      if (!parks) return complete(envelope);
      parks = false;
      return { kind: "park", sleep_ms: 200 };
    });
    await opened.queue.deliver(deliveryOf("task_a"));
    handled.consumer.setSlots(1);
    await handled.seenAtLeast(2);
    await waitFor(() => opened.queue.state(SHARED_QUEUE, "default.task_a.1").then((state) => state === "finished"), {
      bound_ms: 5_000,
      what: "it completes",
    });
  });

  it("that is gone, active, finished or new is left alone by a promotion", async () => {
    const opened = bench();
    const held = gate();
    const handled = await handleWith(opened, async (envelope) => {
      if (taskOf(envelope) === "active") await held.opened;
      return complete(envelope);
    });
    for (const task of ["finished", "active", "new_1", "new_2"]) await opened.queue.deliver(deliveryOf(task));
    handled.consumer.setSlots(1);
    await handled.seenAtLeast(2);

    const woken = await opened.queue.promote(["gone", "active", "finished", "new_2"].map((task) => deliveryOf(task)));

    expect(woken).toBe(0);
    expect(await opened.queue.counts(SHARED_QUEUE)).toEqual({ waiting: 2, active: 1, parked: 0, paused: false });
    held.open();
    await handled.seenAtLeast(4);
    expect(handled.seen.map(taskOf)).toEqual(["finished", "active", "new_1", "new_2"]);
  });

  it("goes ahead of any number without a search of them, which an active one costs neither", async () => {
    const opened = bench();
    const held = gate();
    const handled = await handleWith(opened, async (envelope) => {
      if (taskOf(envelope) !== "active") return PARK;
      await held.opened;
      return complete(envelope);
    });
    for (const task of ["woken", "sleeper", "active"]) await opened.queue.deliver(deliveryOf(task));
    handled.consumer.setSlots(1);
    await handled.seenAtLeast(3);
    const board = opened.queue.boardQueue();
    await board.addBulk(Array.from({ length: 1_500 }, () => ({ name: "plain", data: {} })));
    await board.getBackend().promote("default.woken.1");
    const redis = opened.connect();
    const head = async () => redis.lrange(board.toKey("wait"), -3, -1);
    const searches = async () => /cmdstat_lrem:calls=(\d+)/.exec(await redis.info("commandstats"))?.[1];
    await redis.config("RESETSTAT");

    expect(await opened.queue.promote(["sleeper", "active"].map((task) => deliveryOf(task)))).toBe(1);
    expect(await searches()).toBeUndefined();
    expect(await opened.queue.promote(["woken", "sleeper"].map((task) => deliveryOf(task)))).toBe(0);

    expect((await head()).slice(1)).toEqual(["default.sleeper.1", "default.woken.1"]);
    expect(await opened.queue.counts(SHARED_QUEUE)).toMatchObject({ waiting: 1_502, active: 1, parked: 0 });
    held.open();
  });

  it("of a plain producer with a priority goes ahead likewise, and waits for the end of a pause", async () => {
    const opened = bench();
    const board = opened.queue.boardQueue();
    const delay = 3_600_000;
    await board.add("plain", {}, { jobId: "slept", priority: 7, delay });
    await board.add("plain", {}, { jobId: "first" });
    await board.pause();
    const redis = opened.connect();
    await redis.del(board.toKey("marker"));
    const job = { ...deliveryOf("slept"), job_id: "slept" };

    expect([await opened.queue.promote([job]), await opened.queue.promote([job])]).toEqual([1, 0]);

    expect(await board.getJob("slept")).toMatchObject({ delay: 0, priority: 0 });
    expect(await redis.exists(board.toKey("marker")), "what wakes a worker").toBe(0);
    const told = await redis.xrevrange(board.toKey("events"), "+", "-", "COUNT", 1);
    expect(told[0]?.[1]).toEqual(["event", "waiting", "jobId", "slept", "prev", "delayed"]);
    const handled = await handleWith(opened, complete);
    handled.consumer.setSlots(1);
    expect(await board.getJobCounts("wait", "active")).toEqual({ wait: 2, active: 0 });
    await board.resume();
    await handled.seenAtLeast(2);
    expect(handled.seen.map(taskOf)).toEqual(["slept", "first"]);
  });

  it("sleeps and wakes many times without counting an attempt", async () => {
    const opened = bench();
    const handled = await handleWith(opened, (envelope) => (handled.seen.length < 15 ? PARK : complete(envelope)));
    await opened.queue.deliver(deliveryOf("task_a"));
    handled.consumer.setSlots(1);
    for (let k = 1; k < 15; k += 1) {
      await handled.seenAtLeast(k);
      await allParked(opened, 1);
      await opened.queue.promote([deliveryOf("task_a")]);
    }
    const board = opened.queue.boardQueue();
    await waitFor(async () => (await board.getCompletedCount()) === 1, { bound_ms: 5_000, what: "it completes" });

    expect((await board.getJob("default.task_a.1"))?.attemptsMade).toBe(1);
  });
});
