import { drawBootId } from "@holdfast/contract";
import { bootQueue } from "@holdfast/ledger";
import type { Envelope } from "@holdfast/queue";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type PrivateRedis, startPrivateRedis } from "../support/private-redis.js";
import { deliveryOf, gate, handleWith, openQueueBench, outcomeOf, type QueueBench, taskOf } from "./queue-bench.js";

let redis: PrivateRedis;
let bench: QueueBench;

beforeAll(async () => {
  redis = await startPrivateRedis();
});
afterEach(() => bench.close());
afterAll(() => redis.stop());

const complete = (envelope: Envelope) => ({ kind: "complete", outcome: outcomeOf(taskOf(envelope)) }) as const;
const keysOf = (queue: string) => bench.connect().keys(`${bench.prefix}:${queue}*`);

describe("a boot's own queue", () => {
  it("is consumed beside the shared one, each with a number of jobs at once of its own", async () => {
    bench = openQueueBench(redis.url);
    const own = bootQueue(drawBootId());
    const full = gate();
    const shared = await handleWith(bench, async (envelope) => {
      await full.opened;
      return complete(envelope);
    });
    const beside = await handleWith(bench, complete, own);
    shared.consumer.setSlots(1);
    beside.consumer.setSlots(2);
    await bench.queue.deliver(deliveryOf("task_shared"));
    await shared.seenAtLeast(1);

    await bench.queue.deliver(deliveryOf("task_own", 2, own));

    await beside.seenAtLeast(1);
    expect(beside.seen).toMatchObject([{ kind: "delivery", delivery: 2, name: { task_id: "task_own" } }]);
    full.open();
  });

  it("is removed with what waits, sleeps, runs and has ended in it, again and again, and no other is touched", async () => {
    bench = openQueueBench(redis.url);
    const [dead, other] = [drawBootId(), drawBootId()];
    const held = gate();
    const consumer = await handleWith(
      bench,
      async (envelope) => {
        if (taskOf(envelope) === "task_parked") return { kind: "park", sleep_ms: 60_000 };
        if (taskOf(envelope) === "task_held") await held.opened;
        return complete(envelope);
      },
      bootQueue(dead),
    );
    for (const task of ["task_ended", "task_parked", "task_held", "task_waiting"]) {
      await bench.queue.deliver(deliveryOf(task, 1, bootQueue(dead)));
    }
    await bench.queue.deliver(deliveryOf("task_other", 1, bootQueue(other)));
    consumer.consumer.setSlots(1);
    await consumer.seenAtLeast(3);
    expect(await bench.queue.counts(bootQueue(dead))).toEqual({ waiting: 1, active: 1, parked: 1, paused: false });

    await bench.queue.removeBootQueue(dead);

    expect(await bench.queue.counts(bootQueue(dead))).toEqual({ waiting: 0, active: 0, parked: 0, paused: false });
    held.open();
    await consumer.consumer.close(5_000);
    await bench.queue.removeBootQueue(dead);
    expect(await keysOf(bootQueue(dead))).toEqual([]);
    await bench.queue.deliver(deliveryOf("task_late", 1, bootQueue(dead)));
    await bench.queue.removeBootQueue(dead);
    expect(await keysOf(bootQueue(dead)), "also what was added to it after its end").toEqual([]);
    expect(await bench.queue.counts(bootQueue(other))).toMatchObject({ waiting: 1 });
  });

  it("that was never used is removed without a trace", async () => {
    bench = openQueueBench(redis.url);
    const boot_id = drawBootId();

    await bench.queue.removeBootQueue(boot_id);

    expect(await keysOf(bootQueue(boot_id))).toEqual([]);
  });
});
