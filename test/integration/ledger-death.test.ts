/** Deaths of boots: who may bury, who may recover and when, and what a DEAD boot may still do (L2, L4, T1). */
import { drawBootId } from "@holdfast/contract";
import { LOST_TAIL_MS } from "@holdfast/ledger";
import { describe, expect, it } from "vitest";
import { LEASE_MS, type LedgerFixture, outcomeOf, useFreshLedger, type Worker } from "./ledger-fixture.js";

let f: LedgerFixture;
let worker: Worker;

useFreshLedger(async (fixture) => {
  f = fixture;
  worker = await f.register();
});

const progress = { kind: "task_progress", progress: {} } as const;

function beat(of: Worker, counter: number, held: readonly string[] = []) {
  return f.ledger.boots.beat({ ...of, counter, held: held as never, fence_seen: null, engine_healthy: true });
}

describe("bury", () => {
  it("is refused up to the last millisecond of a lease, and not one longer (L4)", async () => {
    await beat(worker, 3);

    await f.advance(LEASE_MS - 1);
    expect(await f.sight(worker)).toMatchObject({ state: "LIVE", counter: 3, lease_ended: false, dead_ms: null });
    expect(await f.ledger.boots.bury(worker.boot_id, 3)).toEqual({ kind: "alive" });
    await f.advance(1);
    expect(await f.sight(worker)).toMatchObject({ state: "LIVE", lease_ended: true });
    expect(await f.ledger.boots.bury(worker.boot_id, 3)).toMatchObject({ kind: "buried" });

    expect(await f.ledger.boots.bury(worker.boot_id, 3)).toMatchObject({ kind: "already" });
    expect(await f.ledger.boots.bury(worker.boot_id, 99)).toMatchObject({ kind: "already" });
    expect(await f.sight(worker)).toMatchObject({ state: "DEAD", lease_ended: true, dead_ms: 0, reservations: 0 });
    expect(await f.ledger.boots.bury(drawBootId(), 3)).toEqual({ kind: "unknown" });
  });

  it("with a counter that has moved is refused, though the lease ended again (L4)", async () => {
    await beat(worker, 3);
    await f.advance(LEASE_MS);
    await beat(worker, 4);
    await f.advance(LEASE_MS);
    const before = await f.digest();

    expect(await f.ledger.boots.bury(worker.boot_id, 3)).toEqual({ kind: "alive" });

    expect(await f.digest()).toBe(before);
    expect(await f.ledger.boots.bury(worker.boot_id, 4)).toMatchObject({ kind: "buried" });
  });

  it("while a beat is on the way: the beat revives the boot where it comes first, and hears DEAD where late (L4)", async () => {
    const other = await f.register();
    await f.advance(5 * LEASE_MS);

    expect(await beat(worker, 1)).toMatchObject({ kind: "ok" });
    expect(await f.ledger.boots.bury(worker.boot_id, -1)).toEqual({ kind: "alive" });
    expect(await f.ledger.boots.bury(other.boot_id, -1)).toMatchObject({ kind: "buried" });
    const before = await f.digest();
    expect(await beat(other, 1)).toEqual({ kind: "dead" });

    expect(await f.digest()).toBe(before);
    expect((await f.admit(worker, await f.accept())).kind).toBe("granted");
  });

  it("is allowed where the lease begins in the future, since the clock stepped back (L4)", async () => {
    await beat(worker, 1);
    await f.advance(-3_600_000);

    expect(await f.sight(worker)).toMatchObject({ lease_ended: true });
    expect(await f.ledger.boots.bury(worker.boot_id, 1)).toMatchObject({ kind: "buried" });
  });

  it("needs no expiry of the record: a boot that was silent for days is still there and may come back (L4)", async () => {
    await f.advance(5 * 24 * 3_600_000);

    expect(await f.tombstoneLife(worker)).toBe(-1);
    expect(await beat(worker, 1)).toMatchObject({ kind: "ok" });
  });
});

describe("recover", () => {
  it("does nothing for a boot that lives, is unknown, or is DEAD for less than the tail Redis may lose (L4)", async () => {
    const grant = await f.running(worker);
    const nothing = { requeued: [], settled: [], promotions: [] };
    await f.advance(LEASE_MS);
    const living = await f.digest();
    expect(await f.ledger.boots.recover(worker.boot_id, 10)).toEqual({ ...nothing, left: 0 });
    expect(await f.ledger.boots.recover(drawBootId(), 10)).toEqual({ ...nothing, left: 0 });
    expect(await f.digest()).toBe(living);

    await f.ledger.boots.bury(worker.boot_id, -1);
    await f.advance(LOST_TAIL_MS - 1);
    const young = await f.digest();
    expect(await f.ledger.boots.recover(worker.boot_id, 10)).toEqual({ ...nothing, left: 1 });
    expect(await f.digest()).toBe(young);

    await f.advance(1);
    const reply = await f.ledger.boots.recover(worker.boot_id, 10);
    expect(reply).toMatchObject({ requeued: [{ task_id: grant.task_id, delivery: 2, queue: "tasks" }], left: 0 });
  });

  it("waits its two seconds anew, and no longer, where the clock stepped back an hour since the burial (L4, T2)", async () => {
    await f.running(worker);
    await f.dies(worker);
    await f.advance(LOST_TAIL_MS - 1);
    await f.advance(-3_600_000);

    expect(await f.sight(worker)).toMatchObject({ dead_ms: 0 });
    await f.advance(LOST_TAIL_MS - 1);
    expect(await f.sight(worker)).toMatchObject({ dead_ms: LOST_TAIL_MS - 1 });
    expect(await f.ledger.boots.recover(worker.boot_id, 10)).toMatchObject({ requeued: [], left: 1 });
    await f.advance(1);
    expect(await f.ledger.boots.recover(worker.boot_id, 10)).toMatchObject({ requeued: [{ delivery: 2 }], left: 0 });
  });

  it("twice takes once, and every late call of the old boot but proof changes not one byte (L2, T1)", async () => {
    const grant = await f.running(worker);
    const pending = await f.granted(worker, await f.accept());
    await f.dies(worker);
    await f.advance(LOST_TAIL_MS);
    expect((await f.ledger.boots.recover(worker.boot_id, 10)).requeued).toHaveLength(2);
    const before = await f.digest();

    expect(await f.ledger.boots.recover(worker.boot_id, 10)).toEqual({
      ...{ requeued: [], settled: [], promotions: [], left: 0 },
    });
    for (const old of [grant, pending]) {
      expect(await f.ledger.tasks.activate(old, old.sandbox_id)).toEqual({ kind: "fenced" });
      expect(await f.ledger.tasks.append(old, 2, [progress])).toEqual({ kind: "fenced" });
      expect(await f.ledger.tasks.settle(old, outcomeOf(old))).toEqual({ kind: "fenced" });
      expect(await f.ledger.tasks.requeue(old, "drain", false)).toEqual({ kind: "fenced" });
      expect((await f.admit(worker, { ...old, queue: "tasks", job_id: "x" })).kind).toBe("stale");
      expect((await f.admit(worker, { ...old, delivery: 2, queue: "tasks", job_id: "x" })).kind).toBe("fenced");
    }
    expect(await f.digest()).toBe(before);

    // The old worker's own proof is as good as anybody's, and requeues nothing a second time.
    expect(await f.ledger.tasks.release(grant)).toMatchObject({ kind: "released", requeued: null });
    expect(await f.ledger.tasks.release(grant)).toMatchObject({ kind: "already", requeued: null });
    expect((await f.sight(worker)).reservations).toBe(1);
  });

  it("between burial and recovery the old boot writes nothing either (L2)", async () => {
    const grant = await f.running(worker);
    await f.dies(worker);
    const before = await f.digest();

    expect(await f.ledger.tasks.settle(grant, outcomeOf(grant))).toEqual({ kind: "fenced" });
    expect(await f.ledger.tasks.append(grant, 2, [progress])).toEqual({ kind: "fenced" });

    expect(await f.digest()).toBe(before);
  });

  it("counts a task once that runs again beside a draining sandbox of the same boot", async () => {
    const grant = await f.running(worker);
    const back = await f.ledger.tasks.requeue(grant, "drain", false);
    if (back.kind === "requeued") await f.granted(worker, back.delivery);
    await f.dies(worker);
    expect(await f.ledger.boots.recover(worker.boot_id, 10)).toMatchObject({ left: 1 });
    await f.advance(LOST_TAIL_MS);

    expect(await f.ledger.boots.recover(worker.boot_id, 10)).toMatchObject({ requeued: [{ delivery: 3 }], left: 0 });
    expect(await f.ledger.boots.free(worker.boot_id, { kind: "bound" })).toMatchObject({ left: 0 });
  });

  it("leaves alone what the boot had settled or handed back before it died (T1)", async () => {
    const [done, back] = [await f.running(worker), await f.running(worker)];
    await f.ledger.tasks.settle(done, outcomeOf(done));
    await f.ledger.tasks.requeue(back, "drain", false);
    await f.dies(worker);
    await f.advance(LOST_TAIL_MS);

    expect(await f.ledger.boots.recover(worker.boot_id, 10)).toMatchObject({ requeued: [], settled: [], left: 0 });
    expect(await f.ledger.tasks.settle(done, outcomeOf(done))).toMatchObject({ kind: "already" });
    expect(await f.ledger.tasks.view(back)).toMatchObject({ status: "PENDING", delivery: 2 });
  });
});
