import { drawSandboxId, TIMES } from "@holdfast/contract";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { GONE, KEY, resources, scriptedPool } from "../../test/scripted-pool.js";
import type { SandboxSpec } from "../engine.js";
import { type PoolKey, type PoolRoom, roomFor } from "./pool-key.js";

const setup = () => scriptedPool((ms) => vi.advanceTimersByTimeAsync(ms));
const OTHER: PoolKey = { ...KEY, resources: { ...resources, memory_mb: 128 } };
const AMPLE: PoolRoom = { memory_mb: 10_000, pids: 10_000 };

describe("createPool", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("fills one at a time, up to what is wanted and within its room (E1)", async () => {
    const { turn, pool, made, last } = setup();
    const { memory_mb, pids } = roomFor(resources);
    pool.steer([{ key: KEY, count: 3 }], { memory_mb: 2 * memory_mb, pids: 2 * pids });
    await turn();

    expect(made).toHaveLength(1);
    expect(made[0]?.spec).toMatchObject({ purpose: "pool", image: KEY.image, resources, lifetime_seconds: 100 });
    last().ready();
    await turn();
    expect(made).toHaveLength(2);
    last().ready();
    await turn();
    expect(made).toHaveLength(2);
    expect(pool.room()).toEqual({ memory_mb: 2 * memory_mb, pids: 2 * pids });
    expect(pool.counts()).toMatchObject([{ wanted: 3, ready: 2, filling: 0 }]);
  });

  it("begins no fill while somebody waits for a creation, and goes on after it", async () => {
    const { turn, pool, made, last } = setup();
    const live = pool.create({ ...({} as SandboxSpec), sandbox_id: drawSandboxId(), purpose: "task" });
    pool.steer([{ key: KEY, count: 1 }], AMPLE);
    await turn();

    expect(made.map(({ spec }) => spec.purpose)).toEqual(["task"]);
    last().ready();
    await live;
    await turn();
    expect(made.map(({ spec }) => spec.purpose)).toEqual(["task", "pool"]);
  });

  it("begins no fill while its owner has no right to make anything, nor beside what was just handed out", async () => {
    const { turn, pool, made, given, fill, claim } = setup();
    given.mayFill = false;
    pool.steer([{ key: KEY, count: 1 }], AMPLE);
    await turn();
    expect(made).toHaveLength(0);

    given.mayFill = true;
    pool.steer([{ key: KEY, count: 1 }], AMPLE);
    await fill();
    await claim();
    await turn();
    expect(made).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(100);
    expect(made).toHaveLength(2);
  });

  it("hands each member to one of many claims, and refills what was handed out", async () => {
    const { pool, made, served, fill, claim } = setup();
    pool.steer([{ key: KEY, count: 2 }], AMPLE);
    await fill();
    const first = made.map(({ spec }) => spec.sandbox_id);
    const claimed = await Promise.all([claim(), claim(), claim(), claim(), claim()]);

    const ids = claimed.flatMap((sandbox) => sandbox?.sandbox_id ?? []);
    expect(ids.toSorted()).toEqual(first.toSorted());
    expect(served.toSorted()).toEqual(first.toSorted());
    expect(ids.some((id) => pool.holds(id))).toBe(false);
    expect(pool.counts()).toMatchObject([{ hits: 2, misses: 3 }]);
    await fill();
    expect(pool.counts()).toMatchObject([{ ready: 2 }]);
  });

  it("gives no member of another key, not even one that differs in a single amount", async () => {
    const { pool, fill, claim } = setup();
    pool.steer([{ key: KEY, count: 1 }], AMPLE);
    await fill();

    expect(await claim(OTHER)).toBeNull();
    expect(await claim({ ...KEY, image_digest: "sha256:2" })).toBeNull();
    expect(await claim({ ...KEY, runtime: "runsc" })).toBeNull();
    expect(await claim({ ...KEY, image: "another-name:1" })).not.toBeNull();
  });

  it("destroys a member that does not answer, and hands out the next", async () => {
    const { turn, pool, made, events, fill, claim } = setup();
    pool.steer([{ key: KEY, count: 2 }], AMPLE);
    await fill();
    const [dead, good] = made;
    if (dead !== undefined) dead.ping = () => Promise.reject(new Error("the link ended"));

    expect((await claim())?.sandbox_id).toBe(good?.spec.sandbox_id);
    await turn();
    expect(dead?.destroyed).toBe(1);
    expect(good?.destroyed).toBe(0);
    expect(events).toContainEqual({ kind: "removed", sandbox_id: dead?.spec.sandbox_id, why: "doubtful" });
  });

  it("takes a silent link for a doubt after its short deadline", async () => {
    const { turn, pool, made, last, claim } = setup();
    pool.steer([{ key: KEY, count: 1 }], AMPLE);
    await turn();
    last().ping = () => new Promise(() => {});
    last().ready();
    await turn();
    const claimed = claim();
    await vi.advanceTimersByTimeAsync(TIMES.pool_claim_ms);

    expect(await claimed).toBeNull();
    expect(made[0]?.destroyed).toBe(1);
  });

  it("notices a member that ended by itself, and replaces it", async () => {
    const { turn, pool, made, fill, claim } = setup();
    pool.steer([{ key: KEY, count: 1 }], AMPLE);
    await fill();
    made[0]?.end({ kind: "guest_lost", detail: "gone", oom_killed: false });
    await turn();

    expect(made[0]?.destroyed).toBe(1);
    await fill();
    expect((await claim())?.sandbox_id).toBe(made[1]?.spec.sandbox_id);
  });

  it("counts one as held until it is proven gone, and makes none in its place before (E1)", async () => {
    const { turn, pool, made, fill, last } = setup();
    pool.steer([{ key: KEY, count: 1 }], roomFor(resources));
    await fill();
    last().receipt = { ...GONE, proven: false };
    last().end({ kind: "engine_lost", detail: "away" });
    await turn();

    expect(pool.holds(made[0]?.spec.sandbox_id ?? "")).toBe(true);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(made).toHaveLength(1);
    last().receipt = GONE;
    await vi.advanceTimersByTimeAsync(2_000);
    await turn();
    expect(made).toHaveLength(2);
    expect(pool.holds(made[0]?.spec.sandbox_id ?? "")).toBe(false);
  });

  it("destroys a member of a key that is no longer wanted before it makes one that is", async () => {
    const { turn, pool, made, fill } = setup();
    pool.steer([{ key: KEY, count: 1 }], roomFor(OTHER.resources));
    await fill();
    pool.steer([{ key: OTHER, count: 1 }], roomFor(OTHER.resources));
    await turn();
    await fill();

    expect(made.map(({ destroyed }) => destroyed)).toEqual([1, 0]);
    expect(pool.counts()).toMatchObject([{ key: OTHER, ready: 1 }]);
  });

  it("replaces a member near the end of its time, and hands out none past it", async () => {
    const { turn, given, pool, made, fill, claim } = setup();
    const targets = [{ key: KEY, count: 2 }];
    pool.steer(targets, AMPLE);
    await fill();
    given.now_ms += TIMES.pool_unassigned_ms;

    expect(await claim()).toBeNull();
    pool.steer(targets, AMPLE);
    await turn();
    expect(made.slice(0, 2).map(({ destroyed }) => destroyed)).toEqual([1, 0]);
    await fill();
    expect(made.map(({ destroyed }) => destroyed)).toEqual([1, 1, 0, 0]);
  });

  it("lets a member live by the boot's permission, and by its run's once it serves", async () => {
    const { pool, made, fill, claim } = setup();
    pool.steer([{ key: KEY, count: 1 }], AMPLE);
    await fill();

    expect(made[0]?.spec.permission()).toBe(11);
    await claim();
    expect(made[0]?.spec.permission()).toBe(22);
  });

  it("tries a failed fill again ever more slowly, and holds its room until the cleanup is proven", async () => {
    const { turn, pool, made, last, events } = setup();
    pool.steer([{ key: KEY, count: 1 }], AMPLE);
    last().fail(new Promise(() => {}));
    await turn();

    expect(pool.room()).toEqual(roomFor(resources));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(made).toHaveLength(2);
    last().fail();
    await turn();
    expect(pool.room()).toEqual(roomFor(resources));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(made).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(made).toHaveLength(3);
    expect(events.filter(({ kind }) => kind === "fill_failed")).toHaveLength(2);
  });

  it("drains to nothing, one that is being made included, and is then empty for good", async () => {
    const { pool, made, last, fill, claim } = setup();
    pool.steer([{ key: KEY, count: 1 }], AMPLE);
    await fill();
    pool.steer([{ key: KEY, count: 2 }], AMPLE);
    const drained = pool.drain();
    expect(await claim()).toBeNull();
    last().ready();
    await drained;

    expect(made.map(({ destroyed }) => destroyed)).toEqual([1, 1]);
    expect(pool.room()).toEqual({ memory_mb: 0, pids: 0 });
  });

  it("gives a drain up where the worker gives up", async () => {
    const { pool, fill, last, stop } = setup();
    pool.steer([{ key: KEY, count: 1 }], AMPLE);
    await fill();
    last().receipt = { ...GONE, proven: false };
    const drained = pool.drain();
    stop.abort();

    await expect(drained).resolves.toBeUndefined();
    expect(pool.room()).toEqual(roomFor(resources));
  });
});
