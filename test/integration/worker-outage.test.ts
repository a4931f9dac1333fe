/** The ledger goes away while a task runs: its restart kills no work; a lost record ends what nobody owns (L3, L4). */
import type { TaskEvent } from "@holdfast/contract";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { engineCensus } from "../support/census.js";
import { SHELL_IMAGE, startFleet, type TestFleet } from "../support/fleet.js";
import { type PrivateRedis, startPrivateRedis } from "../support/private-redis.js";
import { waitFor } from "../support/wait-for.js";

const shell = (line: string) => ({ image: SHELL_IMAGE, command: ["sh", "-c", line] });
const COUNTING = "n=0; while [ $n -lt 30 ]; do n=$((n+1)); echo $n; sleep 0.1; done";
const COUNTED = Array.from({ length: 30 }, (_, index) => `${index + 1}\n`).join("");

let redis: PrivateRedis;
let fleet: TestFleet;
beforeEach(async () => {
  redis = await startPrivateRedis({ settings: { appendfsync: "always" } });
  fleet = await startFleet({ env: { REDIS_URL: redis.url } });
});
afterEach(async () => {
  await fleet.stopAndExpectNothingLeft();
  await redis.stop();
});

describe("a task that runs while its ledger is away", () => {
  it("ends as if nothing had been when Redis is killed and started again (L3, T1, V1)", async () => {
    const task = await fleet.start(shell(COUNTING));

    await redis.kill();
    await redis.restart();

    expect(await fleet.client.outcome(task)).toMatchObject({
      status: "SUCCEEDED",
      attempt: 1,
      stdout: { text: COUNTED },
    });
    const said: string[] = [];
    for await (const item of fleet.client.events(task)) {
      if (item.kind === "task_log" && item.stream === "stdout") said.push(item.data);
    }
    expect(said.join("")).toBe(COUNTED);
  });

  it("outlives a lease that lapsed: it waits with its end until the boot is renewed (L3)", async () => {
    const task = await fleet.start(shell(COUNTING));

    redis.freeze();
    await waitFor(() => !fleet.worker.ready(), { bound_ms: 12_000, what: "the lease has lapsed" });
    redis.thaw();

    expect(await fleet.client.outcome(task)).toMatchObject({
      status: "SUCCEEDED",
      attempt: 1,
      stdout: { text: COUNTED },
    });
  });
});

describe("a task that runs while its ledger's memory is full", () => {
  const SETTLED_WITHIN_MS = 8_000;

  it("settles soon after its command, and events tell how much of the output they lack (T1, V1)", async () => {
    const task = await fleet.start(shell("echo a; sleep 2; echo b"));
    const direct = new Redis(redis.url);
    await direct.config("SET", "maxmemory", "1");
    const full_since = performance.now();

    const outcome = await fleet.client.outcome(task);
    const took_ms = performance.now() - full_since;
    const events: TaskEvent[] = [];
    for await (const item of fleet.client.events(task)) if ("sequence" in item) events.push(item);
    await direct.config("SET", "maxmemory", "0");
    direct.disconnect();

    expect(outcome).toMatchObject({ status: "SUCCEEDED", stdout: { text: "a\nb\n" } });
    expect(took_ms).toBeLessThan(SETTLED_WITHIN_MS);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
    expect(events.at(-1)).toMatchObject({ kind: "task_finished" });
    const logs = events.filter((event) => event.kind === "task_log");
    expect(logs.reduce((sum, { bytes, dropped_bytes }) => sum + bytes + dropped_bytes, 0)).toBe(4);
    expect(logs.at(-1)?.dropped_bytes).toBeGreaterThan(0);
  });
});

describe("a ledger that knows the boot no more", () => {
  it("its sandboxes are ended unsettled, and the worker goes on under a new boot (L4)", async () => {
    const before = fleet.worker.boot_id;
    await fleet.start(shell("sleep 300"));
    const direct = new Redis(redis.url);

    await direct.flushall();
    direct.disconnect();

    await waitFor(() => fleet.worker.boot_id !== before && fleet.worker.ready(), {
      bound_ms: 30_000,
      what: "the worker is ready under a new boot",
    });
    expect((await engineCensus(fleet.socket, fleet.worker.fleet_id)).containers).toEqual([]);
    expect(await fleet.run(shell("echo again"))).toMatchObject({ status: "SUCCEEDED" });
  });
});
