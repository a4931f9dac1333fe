/** Limits through the queue: waiters are woken by what makes room, in their order, and room is never left unused. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type PrivateRedis, startPrivateRedis } from "../support/private-redis.js";
import { waitFor } from "../support/wait-for.js";
import { type ClientBench, openClientBench, REQUEST } from "./client-bench.js";
import { gate, type Handled, handleWith } from "./queue-bench.js";

const ROOMY = { slots: 200, cpu_milli: 1_000_000, memory_mb: 1_000_000, pids: 100_000 };
/** Less than a parked job sleeps: what comes within it was woken. */
const BOUND_MS = 25_000;
const FLEET_SLOTS = 20;

let redis: PrivateRedis;
let bench: ClientBench;
let handled: Handled | undefined;
/** Runs under way, oldest first, each with what ends it. */
let running: { readonly task: string; readonly workspace: string; end(): void }[];
/** Every task in the order in which it was granted. */
let granted: { readonly task: string; readonly workspace: string }[];
/** The fleet's slots in use, read at each grant and after each release. */
let samples: number[];

beforeEach(async () => {
  redis = await startPrivateRedis();
  bench = await openClientBench(redis.url, ROOMY);
  [running, granted, samples] = [[], [], []];
});
afterEach(async () => {
  for (const { end } of running) end();
  await handled?.consumer.close(5_000);
  handled = undefined;
  await bench.close();
  await redis.stop();
});

const usedSlots = async () => (await bench.ledger.hosts.limits(0)).scopes[0]?.used.slots ?? 0;

/** One worker that fetches `slots` jobs at once; each granted task runs until the test ends it. */
async function work(slots: number): Promise<void> {
  handled = await handleWith(bench, async (envelope) => {
    const disposition = await bench.handle(envelope, async ({ task_id: task, workspace_id: workspace }) => {
      const ended = gate();
      granted.push({ task, workspace });
      samples.push(await usedSlots());
      running.push({ task, workspace, end: ended.open });
      await ended.opened;
      return {};
    });
    if (disposition.kind === "complete") samples.push(await usedSlots());
    return disposition;
  });
  handled.consumer.setSlots(slots);
}

function end(at = 0): void {
  running.splice(at, 1)[0]?.end();
}

/** The duty that every worker runs each second: a wake-up may come while its job is on its way to sleep. */
function lookForHeads(): () => void {
  const look = async () => bench.queue.promote(await bench.ledger.tasks.headsWithRoom());
  const looks = setInterval(() => void look().catch(() => undefined), 1_000);
  return () => clearInterval(looks);
}

const until = (what: string, condition: () => boolean | Promise<boolean>) =>
  waitFor(condition, { bound_ms: BOUND_MS, what });

async function submit(count: number, workspace_id: string): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) ids.push((await bench.client.submit({ ...REQUEST, workspace_id })).task_id);
  return ids;
}

const waitingNow = async () => {
  const { host, workspace, fleet } = (await bench.ledger.hosts.limits(0)).waiting;
  return host + workspace + fleet;
};

/** All of them are in a waiting list, and their jobs sleep, so that only a wake-up moves them. */
const parked = (count: number) =>
  until(`${count} tasks wait`, async () => {
    const { parked: asleep, waiting } = await bench.queue.counts("tasks");
    return waiting === 0 && asleep === count && (await waitingNow()) === count;
  });

describe("a limit under excess demand", () => {
  it("is used to 95 % at least, counted at each grant and release, and never passed (C1)", async () => {
    await bench.client.setLimits({ scope: "fleet" }, { slots: FLEET_SLOTS });
    await bench.client.setLimits({ scope: "workspace", id: "a" }, { slots: FLEET_SLOTS / 2 });
    await submit(80, "a");
    await submit(80, "b");
    await work(3 * FLEET_SLOTS);
    await until("the limit is reached", () => running.length === FLEET_SLOTS);
    await parked(160 - FLEET_SLOTS);
    samples.length = 0;
    const stop = lookForHeads();

    for (let ended = 0; ended < 100; ended += 1) {
      end(ended % running.length);
      await until(`a waiter follows the ${ended}th that ended`, () => running.length === FLEET_SLOTS);
    }
    stop();

    const mean = samples.reduce((sum, slots) => sum + slots, 0) / samples.length;
    expect(samples.length).toBeGreaterThanOrEqual(200);
    expect(Math.max(...samples)).toBe(FLEET_SLOTS);
    expect(mean / FLEET_SLOTS).toBeGreaterThanOrEqual(0.95);
  });
});

describe("waiters", () => {
  it("are woken at once by a limit that is raised, and by nothing while it is not (C1)", async () => {
    await bench.client.setLimits({ scope: "workspace", id: "a" }, { slots: 0 });
    await submit(30, "a");
    await work(10);
    await parked(30);
    expect(granted).toEqual([]);

    await bench.client.setLimits({ scope: "workspace", id: "a" }, { slots: 3 });

    await until("three run", () => running.length === 3);
    expect(await usedSlots()).toBe(3);
    await bench.client.setLimits({ scope: "fleet" }, { slots: 8 });
    await bench.client.setLimits({ scope: "workspace", id: "a" }, { slots: null });
    await until("eight run", () => running.length === 8);
    expect(await usedSlots()).toBe(8);
  });

  it("of a workspace go by age, and those of a full one hold back nobody of another", async () => {
    await bench.client.setLimits({ scope: "fleet" }, { slots: 4 });
    await bench.client.setLimits({ scope: "workspace", id: "a" }, { slots: 1 });
    await work(10);
    const first = await submit(1, "a");
    await until("the first runs", () => running.length === 1);
    const rest = await submit(20, "a");
    await parked(20);
    const others = await submit(3, "b");
    await until("the other workspace has the rest of the fleet", () => running.length === 4);
    expect(running.map(({ workspace }) => workspace).toSorted()).toEqual(["a", "b", "b", "b"]);

    for (let n = 0; n < 20; n += 1) {
      end(running.findIndex(({ workspace }) => workspace === "a"));
      await until(`the ${n}th waiter runs`, () => running.length === 4);
    }

    const order = granted.filter(({ workspace }) => workspace === "a").map(({ task }) => task);
    expect(order).toEqual([...first, ...rest]);
    expect(
      granted
        .filter(({ workspace }) => workspace === "b")
        .map(({ task }) => task)
        .toSorted(),
    ).toEqual(others.toSorted());
  });
});
