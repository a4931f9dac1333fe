/** Limits through the queue: waiters are woken by what makes room, in their order, and room is never left unused. */
import { performance } from "node:perf_hooks";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type PrivateRedis, startPrivateRedis } from "../support/private-redis.js";
import { waitFor } from "../support/wait-for.js";
import { type ClientBench, openClientBench, REQUEST } from "./client-bench.js";
import { gate, type Handled, handleWith } from "./queue-bench.js";

const ROOMY = { slots: 200, cpu_milli: 1_000_000, memory_mb: 1_000_000, pids: 100_000 };
/** Less than a parked job sleeps: what comes within it was woken. */
const BOUND_MS = 25_000;
const FLEET_SLOTS = 20;
/** Each task holds its slot this long: 95 % then leave a wake-up about 175 ms, and one by the duty alone takes 500. */
const HELD_MS = 3_500;

let redis: PrivateRedis;
let bench: ClientBench;
let handled: Handled | undefined;
/** Runs under way, oldest first, each with what ends it. */
let running: { readonly task: string; readonly workspace: string; end(): void }[];
/** Every task in the order in which it was granted. */
let granted: { readonly task: string; readonly workspace: string }[];
/** How long a task that is granted from now on holds its slot; null: until the test ends it. */
let held_ms: number | null;

beforeEach(async () => {
  redis = await startPrivateRedis();
  bench = await openClientBench(redis.url, ROOMY);
  [running, granted, held_ms] = [[], [], null];
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
    return bench.handle(envelope, async ({ task_id: task, workspace_id: workspace }) => {
      const ended = gate();
      granted.push({ task, workspace });
      if (held_ms !== null) setTimeout(ended.open, held_ms);
      running.push({ task, workspace, end: ended.open });
      await ended.opened;
      running = running.filter((other) => other.task !== task);
      return {};
    });
  });
  handled.consumer.setSlots(slots);
}

function end(at = 0): void {
  running.splice(at, 1)[0]?.end();
}

/** Reads the fleet's slots in use all the while, in order; when stopped, tells the most and the mean over time. */
function measureUse(): () => { most: number; mean: number } {
  const samples: { readonly at_ms: number; readonly slots: number }[] = [];
  const look = async () => {
    const slots = await usedSlots();
    samples.push({ at_ms: performance.now(), slots });
  };
  const looks = setInterval(() => void look().catch(() => undefined), 10);
  return () => {
    clearInterval(looks);
    let [area, span] = [0, 0];
    for (const [n, { at_ms, slots }] of samples.slice(0, -1).entries()) {
      const lasted = (samples[n + 1]?.at_ms ?? at_ms) - at_ms;
      [area, span] = [area + slots * lasted, span + lasted];
    }
    return { most: Math.max(...samples.map(({ slots }) => slots)), mean: area / span };
  };
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
  it("is used to 95 % of its time at least, and never passed (C1)", async () => {
    await bench.client.setLimits({ scope: "fleet" }, { slots: FLEET_SLOTS });
    await bench.client.setLimits({ scope: "workspace", id: "a" }, { slots: FLEET_SLOTS / 2 });
    await submit(80, "a");
    await submit(80, "b");
    await work(3 * FLEET_SLOTS);
    await until("the limit is reached", () => running.length === FLEET_SLOTS);
    await parked(160 - FLEET_SLOTS);
    const stop = lookForHeads();
    const use = measureUse();

    held_ms = HELD_MS;
    for (const [n, task] of running.entries()) setTimeout(task.end, (HELD_MS / FLEET_SLOTS) * (n + 1));
    await until("each slot has had four tasks after its first", () => granted.length >= 5 * FLEET_SLOTS);
    const { most, mean } = use();
    stop();

    expect(await waitingNow()).toBeGreaterThan(0);
    expect(most).toBe(FLEET_SLOTS);
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
