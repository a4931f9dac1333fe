import { HoldfastError } from "@holdfast/contract";
import { type Envelope, openTaskQueue, SHARED_QUEUE } from "@holdfast/queue";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { dropReply, startRedisProxy } from "../faults/lab/proxy.js";
import { scriptNames } from "../faults/lab/script-names.js";
import { freePort } from "../support/free-port.js";
import { type PrivateRedis, startPrivateRedis } from "../support/private-redis.js";
import { waitFor } from "../support/wait-for.js";
import { deliveryOf, gate, handleWith, openQueueBench, outcomeOf, type QueueBench, taskOf } from "./queue-bench.js";

let redis: PrivateRedis;
let bench: QueueBench;

beforeEach(async () => {
  // With everysec a kill may take back that a job has finished, and it is fetched once more.
  redis = await startPrivateRedis({ settings: { appendfsync: "always" } });
  bench = openQueueBench(redis.url);
});
afterEach(async () => {
  redis.thaw();
  await bench.close();
  await redis.stop();
});

async function finished(job_id: string): Promise<void> {
  const condition = async () => (await bench.queue.state(SHARED_QUEUE, job_id)) === "finished";
  await waitFor(condition, { bound_ms: 10_000, what: `${job_id} completes` });
}

const complete = (envelope: Envelope) => ({ kind: "complete", outcome: outcomeOf(taskOf(envelope)) }) as const;

async function timed<Value>(work: Promise<Value>): Promise<{ value: Value; ms: number }> {
  const start = performance.now();
  const value = await work;
  return { value, ms: performance.now() - start };
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "none";
  } catch (error) {
    return error instanceof HoldfastError ? error.code : `${error}`;
  }
}

describe("a consumer", () => {
  it("fetches again within 10 s after its Redis was killed and came back, idle or busy", async () => {
    const held = gate();
    const handled = await handleWith(bench, async (envelope) => {
      if (taskOf(envelope) === "busy") await held.opened;
      return complete(envelope);
    });
    handled.consumer.setSlots(2);
    await bench.queue.deliver(deliveryOf("busy"));
    await handled.seenAtLeast(1);
    for (let round = 1; round <= 2; round += 1) {
      await redis.kill();
      await redis.restart();
      await bench.queue.deliver(deliveryOf(`after_${round}`));
      await handled.seenAtLeast(1 + round, 10_000);
      await finished(`default.after_${round}.1`);
    }
    held.open();

    await finished("default.busy.1");
    expect(handled.seen.map(taskOf)).toEqual(["busy", "after_1", "after_2"]);
  });

  it("fetches again within 10 s after its Redis was killed and came back empty", async () => {
    const handled = await handleWith(bench, complete);
    handled.consumer.setSlots(1);
    await bench.queue.deliver(deliveryOf("before"));
    await handled.seenAtLeast(1);
    await bench.connect().flushall();
    await redis.kill();
    await redis.restart();
    await bench.queue.deliver(deliveryOf("after"));

    await handled.seenAtLeast(2, 10_000);
  });

  it("fetches again within 10 s after its Redis was killed and took seconds to load", async () => {
    const slow = await startPrivateRedis({ settings: { "key-load-delay": "20000" } });
    const own = openQueueBench(slow.url);
    const connection = own.connect();
    await connection.mset(Array.from({ length: 150 }, (_, n) => [`key_${n}`, "x"]).flat());
    await connection.bgrewriteaof();
    const written = async () => (await connection.info("persistence")).includes("aof_rewrite_in_progress:0");
    await waitFor(written, { bound_ms: 10_000, what: "the keys are where a load reads them slowly" });
    const handled = await handleWith(own, complete);
    handled.consumer.setSlots(1);
    await own.queue.deliver(deliveryOf("before"));
    await handled.seenAtLeast(1);
    await slow.kill();
    const { ms } = await timed(slow.restart());
    await own.queue.deliver(deliveryOf("after"));

    await handled.seenAtLeast(2, 10_000);
    expect(ms, "it did load").toBeGreaterThan(2_000);
    await own.close();
    await slow.stop();
  });

  it("fetches again after its Redis stood still", async () => {
    const handled = await handleWith(bench, complete);
    handled.consumer.setSlots(1);
    await bench.queue.deliver(deliveryOf("before"));
    await handled.seenAtLeast(1);
    redis.freeze();
    await waitFor(() => handled.consumer.idleMs() > 6_000, { bound_ms: 10_000, what: "the consumer is idle for 6 s" });
    redis.thaw();
    await bench.queue.deliver(deliveryOf("after"));

    await handled.seenAtLeast(2, 10_000);
  });

  it("gets a job whose fetch was applied and never answered back within 16 s, however often that was so", async () => {
    const proxy = await startRedisProxy({ port: redis.port, names: scriptNames() });
    const behind = openQueueBench(`redis://127.0.0.1:${proxy.port}`);
    const handled = await handleWith(behind, complete);
    await behind.queue.deliver(deliveryOf("unheard"));
    await bench.connect().hset(`${behind.prefix}:${SHARED_QUEUE}:default.unheard.1`, "stc", "100");
    const rule = proxy.on({ script: "bull:moveToActive" }, dropReply());

    handled.consumer.setSlots(1);
    await rule.reached(5_000);
    await handled.seenAtLeast(1, 16_000);

    expect(handled.seen.map(taskOf)).toEqual(["unheard"]);
    await behind.close();
    await proxy.close();
  });

  it("says how long ago its last fetch returned", async () => {
    const handled = await handleWith(bench, complete);
    handled.consumer.setSlots(1);
    await waitFor(() => handled.consumer.idleMs() > 1_000, { bound_ms: 5_000, what: "a fetch is out for a second" });
    await waitFor(() => handled.consumer.idleMs() < 500, { bound_ms: 5_000, what: "an empty fetch returned" });
  });

  it.each(["killed", "frozen"] as const)(
    "ends within its deadline with a job under way while Redis is %s",
    async (how) => {
      const held = gate();
      const handled = await handleWith(bench, async (envelope) => {
        await held.opened;
        return complete(envelope);
      });
      handled.consumer.setSlots(2);
      await bench.queue.deliver(deliveryOf("busy"));
      await handled.seenAtLeast(1);
      if (how === "killed") await redis.kill();
      else redis.freeze();

      const { ms } = await timed(handled.consumer.close(1_000));

      expect(ms).toBeLessThan(1_500);
      expect(handled.notices.map(({ event }) => event)).toContain("close_forced");
      held.open();
    },
  );

  it("ends within its deadline where Redis never was there", async () => {
    const nowhere = openQueueBench(`redis://127.0.0.1:${await freePort()}`, 500);
    const handled = await handleWith(nowhere, complete);
    handled.consumer.setSlots(1);

    const { ms } = await timed(handled.consumer.close(1_000));

    expect(ms).toBeLessThan(1_500);
    await nowhere.close();
  });

  it("waits at its end for the jobs under way and takes no more", async () => {
    const held = gate();
    const handled = await handleWith(bench, async (envelope) => {
      await held.opened;
      return complete(envelope);
    });
    handled.consumer.setSlots(1);
    await bench.queue.deliver(deliveryOf("busy"));
    await bench.queue.deliver(deliveryOf("next"));
    await handled.seenAtLeast(1);
    const closed = handled.consumer.close(10_000);
    held.open();
    await closed;

    expect(await bench.queue.state(SHARED_QUEUE, "default.busy.1")).toBe("finished");
    expect(await bench.queue.state(SHARED_QUEUE, "default.next.1")).toBe("waiting");
    const clients = await bench.connect().info("clients");
    expect(clients).toContain("blocked_clients:0");
  });
});

describe("a producer", () => {
  it.each(["killed", "frozen"] as const)("hears LEDGER_UNAVAILABLE within its bound while Redis is %s", async (how) => {
    await bench.queue.deliver(deliveryOf("before"));
    if (how === "killed") await redis.kill();
    else redis.freeze();

    const calls = await Promise.all([
      timed(codeOf(bench.queue.deliver(deliveryOf("task_a")))),
      timed(codeOf(bench.queue.promote([deliveryOf("task_a")]))),
      timed(codeOf(bench.queue.state(SHARED_QUEUE, "default.task_a.1"))),
      timed(codeOf(bench.queue.counts(SHARED_QUEUE))),
    ]);

    for (const { value, ms } of calls) {
      expect(value).toBe("LEDGER_UNAVAILABLE");
      expect(ms).toBeLessThan(5_000);
    }
  });

  it("hears it likewise where Redis never was there, and its close returns", async () => {
    const url = `redis://127.0.0.1:${await freePort()}`;
    const connection = () => new Redis(url, { maxRetriesPerRequest: null });
    const queue = openTaskQueue({ ledger: { connection }, fail_fast_ms: 700 });

    const { value, ms } = await timed(codeOf(queue.deliver(deliveryOf("task_a"))));
    await queue.close();

    expect(value).toBe("LEDGER_UNAVAILABLE");
    expect(ms).toBeLessThan(1_500);
  });
});
