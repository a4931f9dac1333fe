/** Pool slices: what a boot reserves of its host for sandboxes that wait for a task (C1, C2, L3, L4, Q1). */
import { BOUNDS, drawBootId, drawSandboxId, type PoolKeyView } from "@holdfast/contract";
import { type FreeRight, LOST_TAIL_MS } from "@holdfast/ledger";
import { describe, expect, it } from "vitest";
import { IMAGE, LEASE_MS, type LedgerFixture, LIMITS, useFreshLedger, type Worker } from "./ledger-fixture.js";

let f: LedgerFixture;
let worker: Worker;

useFreshLedger(async (fixture) => {
  f = fixture;
  worker = await f.register();
});

const KEY: PoolKeyView = {
  ...{ image: IMAGE, image_digest: "sha256:aa", runtime: "runc", cpu: 1, memory_mb: 512, disk_mb: 256 },
  ...{ pids_limit: 128, pinned: true, wanted: 2, ready: 1, filling: 1, hits: 3, misses: 1 },
};

function slice(of: Worker, memory_mb: number, pids = 0, report: readonly PoolKeyView[] = []) {
  return f.ledger.boots.setSlice({ boot_id: of.boot_id, memory_mb, pids, report });
}

const beat = (of: Worker, counter: number, failed_checks: readonly string[] = []) =>
  f.ledger.boots.beat({ ...of, counter, held: [], fence_seen: null, engine_healthy: true, failed_checks });

async function host() {
  const [only] = await f.ledger.hosts.list();
  if (!only) throw new Error("a host is registered");
  return only;
}

describe("a slice", () => {
  it("is memory and pids of its host, shown beside what its boot says of the pool", async () => {
    expect(await slice(worker, 1_792, 260, [KEY])).toEqual({
      ...{ kind: "set", memory_mb: 1_792, pids: 260, yield: false, promotions: [] },
    });

    expect(await host()).toMatchObject({
      reserved: { slots: 0, cpu_milli: 0, memory_mb: 1_792, pids: 260 },
      pool_reserved: { memory_mb: 1_792, pids: 260 },
      boots: [{ held: 0, slice: { memory_mb: 1_792, pids: 260 }, pool: [KEY] }],
    });
    expect(await f.ledger.hosts.sandboxes()).toEqual([]);
    await f.expectQuiet();
  });

  it("and the tasks of its host have no more than the host has, whoever comes first (C1)", async () => {
    const grant = await f.running(worker);
    const sibling = await f.register({ host_id: worker.host_id, limits: null });
    const left = LIMITS.memory_mb - 896;

    expect(await slice(worker, left + 1)).toMatchObject({ kind: "set", memory_mb: 0 });
    expect(await slice(sibling, 896)).toMatchObject({ memory_mb: 896 });
    expect(await slice(worker, left - 895)).toMatchObject({ memory_mb: 0 });
    expect(await slice(worker, left - 896, LIMITS.pids)).toMatchObject({ memory_mb: 0, pids: 0 });
    expect(await slice(worker, left - 896)).toMatchObject({ memory_mb: left - 896 });
    expect(await host()).toMatchObject({ reserved: { slots: 1, memory_mb: LIMITS.memory_mb } });
    await f.expectCounted();

    expect(await f.admit(sibling, await f.accept())).toMatchObject({ kind: "parked", scope: "host" });
    await f.finish(grant);
    await f.expectCounted();
    expect(await host()).toMatchObject({ reserved: { slots: 0, memory_mb: left } });
  });

  it("that would grow beyond its host stays whole, and one that shrinks in one amount does not grow in another", async () => {
    await slice(worker, 1_000, 100);

    expect(await slice(worker, 500, LIMITS.pids + 1)).toMatchObject({ memory_mb: 1_000, pids: 100 });
    expect(await slice(worker, 500, 200)).toMatchObject({ memory_mb: 500, pids: 200 });
    await f.ledger.hosts.setLimits("host", worker.host_id, { memory_mb: 400 });
    expect(await slice(worker, 500, 300)).toMatchObject({ memory_mb: 500, pids: 300 });
    expect(await slice(worker, 400, 300)).toMatchObject({ memory_mb: 400, pids: 300 });
  });

  it("set again, as by a client that had no answer, is what it was, and nothing is counted twice", async () => {
    const [first, second] = [await slice(worker, 896, 130), await slice(worker, 896, 130)];
    expect(second).toEqual(first);
    await f.expectCounted();

    await slice(worker, 0);
    expect(await slice(worker, 0)).toMatchObject({ memory_mb: 0, pids: 0 });
    expect((await host()).reserved).toEqual({ slots: 0, cpu_milli: 0, memory_mb: 0, pids: 0 });
    await f.expectQuiet();
  });

  it("grows for a boot that is granted tasks only, and shrinks for every one that is not DEAD (L3, L4)", async () => {
    await slice(worker, 1_000);
    await f.advance(LEASE_MS);
    expect(await slice(worker, 1_100)).toMatchObject({ memory_mb: 1_000 });
    expect(await slice(worker, 900)).toMatchObject({ memory_mb: 900 });
    await beat(worker, 0, ["memory"]);
    expect(await slice(worker, 1_000)).toMatchObject({ memory_mb: 900 });
    await beat(worker, 1);

    await f.ledger.hosts.setDraining(worker.host_id, true);
    expect(await slice(worker, 1_000)).toMatchObject({ memory_mb: 900 });
    expect(await slice(worker, 800)).toMatchObject({ memory_mb: 800 });
    await f.ledger.hosts.setDraining(worker.host_id, false);
    expect(await slice(worker, 900)).toMatchObject({ memory_mb: 900 });

    await f.ledger.boots.drain(worker.boot_id);
    expect(await slice(worker, 1_000)).toMatchObject({ memory_mb: 900 });
    expect(await slice(worker, 0)).toMatchObject({ memory_mb: 0 });
  });

  it("of a boot that is unknown or DEAD is not set, and nothing is written for it (L4)", async () => {
    await slice(worker, 1_000);
    await f.dies(worker);
    const before = await f.digest();

    expect(await slice(worker, 0)).toEqual({ kind: "fenced" });
    expect(await slice({ ...worker, boot_id: drawBootId() }, 100)).toEqual({ kind: "fenced" });
    expect(await f.digest()).toBe(before);
  });

  it("does not grow while grants are closed: what a lost tail hid may hold the room (C1)", async () => {
    await slice(worker, 500);
    await f.redis.hset(`${f.root}:fleet`, "run_id", "0".repeat(40));

    expect(await slice(worker, 600)).toMatchObject({ memory_mb: 500 });
    await f.advance(LEASE_MS);
    await beat(worker, 0);
    expect(await slice(worker, 600)).toMatchObject({ memory_mb: 600 });
  });

  it("shows as much of a report as there is room for", async () => {
    const long = Array.from({ length: 100 }, (_, n) => ({ ...KEY, image: `lab:${n}` }));
    await slice(worker, 0, 0, long);

    const [boot] = (await host()).boots;
    expect(boot?.pool.length).toBeGreaterThan(20);
    expect(boot?.pool).toEqual(long.slice(0, boot?.pool.length));
    expect(JSON.stringify(boot?.pool).length).toBeLessThanOrEqual(BOUNDS.pool_report_bytes_max);
  });
});

describe("the slice of a boot that ends", () => {
  const free = (right: FreeRight) => f.ledger.boots.free(worker.boot_id, right);
  const proof = (all_gone: boolean): FreeRight => ({ kind: "proof", sandbox_ids: [], all_gone });

  it("keeps it from retiring, and the ledger from being closed cleanly (L4)", async () => {
    await slice(worker, 896);
    expect(await f.ledger.boots.retire(worker.boot_id)).toEqual({ kind: "holds", tokens: [] });
    expect(await f.sight(worker)).toMatchObject({ state: "LIVE", reservations: 0, holds_slice: true });
    await f.dies(worker);
    expect(await f.ledger.closeCleanly()).toBe(false);
    await f.advance(LOST_TAIL_MS);

    await free({ kind: "bound" });
    expect(await f.ledger.closeCleanly()).toBe(true);
  });

  it.each([
    ["proof that nothing of it is left", proof(true)],
    ["the dead-man bound", { kind: "bound" }],
  ] as const)("is freed by %s, once, when DEAD is old enough, and wakes who waits (C2, L4)", async (_, right) => {
    await slice(worker, LIMITS.memory_mb, 10, [KEY]);
    const sibling = await f.register({ host_id: worker.host_id, limits: null });
    const waits = await f.accept();
    expect(await free(right)).toMatchObject({ slice_freed: false });
    await f.advance(LEASE_MS / 2);
    await beat(sibling, 0);
    await f.advance(LEASE_MS / 2);
    await f.ledger.boots.bury(worker.boot_id, -1);
    expect(await f.admit(sibling, waits)).toMatchObject({ kind: "parked", scope: "host" });
    await f.advance(LOST_TAIL_MS - 1);
    expect(await free(right)).toMatchObject({ slice_freed: false });
    await f.advance(1);
    expect(await free(proof(false))).toMatchObject({ slice_freed: false });
    expect(await f.tombstoneLife(worker)).toBe(-1);
    const dead = (await host()).boots.find(({ state }) => state === "DEAD");
    expect(dead).toMatchObject({ slice: { memory_mb: LIMITS.memory_mb }, pool: [] });

    expect(await free(right)).toMatchObject({ slice_freed: true, left: 0, promotions: [{ task_id: waits.task_id }] });
    expect(await f.tombstoneLife(worker)).toBeGreaterThan(0);
    expect(await free(right)).toEqual({ slice_freed: false, left: 0, promotions: [] });
    expect(await f.admit(sibling, waits)).toMatchObject({ kind: "granted" });
  });

  it("leaves nothing behind (Q1)", async () => {
    await slice(worker, 896);
    await f.dies(worker);
    await f.advance(LOST_TAIL_MS);
    await free({ kind: "bound" });

    await f.expectQuiet();
  });
});

describe("a task served by a warm sandbox", () => {
  it("is recorded with that, before its first byte, and named by it from then on (C2)", async () => {
    const delivery = await f.accept();
    const grant = await f.granted(worker, delivery);
    const warm = drawSandboxId();
    const shown = async () =>
      (await f.ledger.hosts.sandboxes()).map(({ sandbox_id, assigned }) => [sandbox_id, assigned]);
    expect(await shown()).toEqual([[grant.sandbox_id, false]]);

    const first = await f.ledger.tasks.activate(grant, warm);
    expect(await f.ledger.tasks.activate(grant, warm)).toEqual(first);
    expect(await shown()).toEqual([[warm, true]]);
    expect(await f.admit(worker, delivery)).toMatchObject({ kind: "granted", grant: { sandbox_id: warm } });

    await f.dies(worker);
    await f.advance(LOST_TAIL_MS);
    await f.ledger.boots.recover(worker.boot_id, 10);
    expect(await shown()).toEqual([[warm, true]]);
    const gone = (sandbox_id: typeof warm) =>
      f.ledger.boots.free(worker.boot_id, { kind: "proof", sandbox_ids: [sandbox_id], all_gone: false });
    expect(await gone(grant.sandbox_id)).toMatchObject({ left: 1 });
    expect(await gone(warm)).toMatchObject({ left: 0 });
  });
});
