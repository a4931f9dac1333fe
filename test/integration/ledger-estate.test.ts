/** What a DEAD boot leaves: reservations, a tombstone, attempts, and tasks cancelled later (C2, L4, T1, T3). */
import { outcomeSchema, type SandboxId, TIMES } from "@holdfast/contract";
import { LOST_TAIL_MS } from "@holdfast/ledger";
import { describe, expect, it } from "vitest";
import { LEASE_MS, type LedgerFixture, outcomeOf, useFreshLedger, type Worker } from "./ledger-fixture.js";

let f: LedgerFixture;
let worker: Worker;

useFreshLedger(async (fixture) => {
  f = fixture;
  worker = await f.register();
});

describe("free", () => {
  async function deadWith(count: number) {
    const grants = [];
    for (let n = 0; n < count; n += 1) grants.push(await f.running(worker));
    await f.dies(worker);
    await f.advance(LOST_TAIL_MS);
    await f.ledger.boots.recover(worker.boot_id, 10);
    return grants;
  }

  it("gives back nothing that still runs, nothing of a boot that lives, and nothing before DEAD is old enough (C2, L4)", async () => {
    const [runs, done] = [await f.running(worker), await f.running(worker)];
    await f.ledger.tasks.settle(done, outcomeOf(done));
    const free = () => f.ledger.boots.free(worker.boot_id, { kind: "bound" });
    await f.advance(LEASE_MS);
    expect(await free()).toMatchObject({ promotions: [], left: 2 });
    await f.ledger.boots.bury(worker.boot_id, -1);
    await f.advance(LOST_TAIL_MS - 1);
    expect(await free()).toMatchObject({ promotions: [], left: 2 });
    await f.advance(1);

    expect(await free()).toMatchObject({ left: 1 });
    expect(await f.ledger.tasks.view(runs)).toMatchObject({ status: "RUNNING" });
    await f.ledger.boots.recover(worker.boot_id, 10);
    expect(await free()).toMatchObject({ left: 0 });
  });

  it("by proof gives back the named sandboxes only, by the bound all, and each once (C2)", async () => {
    const [one, two] = await deadWith(2);
    if (!one || !two) throw new Error("two were granted");
    const other = await f.register({ host_id: worker.host_id });
    const waits = await f.accept();
    expect(await f.admit(other, waits)).toMatchObject({ kind: "parked", scope: "host" });

    const proof = (...sandbox_ids: SandboxId[]) =>
      f.ledger.boots.free(worker.boot_id, { kind: "proof", sandbox_ids, all_gone: false });
    expect(await proof()).toMatchObject({ promotions: [], left: 2 });
    const freed = await proof(one.sandbox_id);
    expect(freed).toMatchObject({ left: 1, promotions: [{ task_id: waits.task_id }] });
    expect(await proof(one.sandbox_id)).toMatchObject({ promotions: [], left: 1 });
    await f.expectCounted();
    expect(await f.ledger.boots.free(worker.boot_id, { kind: "bound" })).toMatchObject({ left: 0 });
    expect(await f.ledger.boots.free(worker.boot_id, { kind: "bound" })).toMatchObject({ promotions: [], left: 0 });
    expect((await f.ledger.hosts.list())[0]?.reserved.slots).toBe(0);
    expect(await f.ledger.tasks.release(two)).toMatchObject({ kind: "already", requeued: null });
  });
});

describe("a tombstone", () => {
  it("stays while a reservation names the boot, then for its retention, which nothing begins anew (L4, Q1)", async () => {
    const grant = await f.running(worker);
    await f.dies(worker);
    expect(await f.tombstoneLife(worker)).toBe(-1);
    await f.advance(LOST_TAIL_MS);
    await f.ledger.boots.recover(worker.boot_id, 10);
    expect(await f.tombstoneLife(worker)).toBe(-1);

    await f.ledger.boots.free(worker.boot_id, { kind: "bound" });
    const life = await f.tombstoneLife(worker);
    expect(life).toBeGreaterThan(TIMES.tombstone_retention_ms - 60_000);
    await f.redis.pexpire(`${f.root}:boot:${worker.boot_id}`, 1_000_000);
    await f.ledger.tasks.release(grant);
    await f.ledger.boots.bury(worker.boot_id, -1);
    await f.ledger.boots.retire(worker.boot_id);

    expect(await f.tombstoneLife(worker)).toBeLessThanOrEqual(1_000_000);
    await f.ledger.tasks.cancel(grant);
    await f.expectQuiet();
  });
});

describe("attempts", () => {
  it("whose worker died are counted whether or not user code had started, and the last says what is known (T1)", async () => {
    let delivery = await f.accept({ attempts_max: 2 });
    const hosts: string[] = [];
    for (const starts of [false, true]) {
      const boot = await f.register();
      hosts.push(boot.host_id);
      const grant = await f.granted(boot, delivery);
      if (starts) await f.ledger.tasks.activate(grant, grant.sandbox_id);
      await f.dies(boot);
      await f.advance(LOST_TAIL_MS);
      const reply = await f.ledger.boots.recover(boot.boot_id, 10);
      delivery = reply.requeued[0] ?? delivery;
      if (starts) expect(reply).toMatchObject({ requeued: [], settled: [{ task_id: delivery.task_id }], left: 0 });
      await f.ledger.boots.free(boot.boot_id, { kind: "bound" });
    }

    expect(outcomeSchema.strict().parse(await f.ledger.tasks.outcome(delivery))).toMatchObject({
      ...{ status: "FAILED", ran: true, attempt: 2, cleanup_pending: true },
      error: {
        ...{ code: "ATTEMPTS_EXHAUSTED", fault: "platform", retryable: true },
        evidence: {
          ...{ attempts: 2, attempts_counted: 2, last_host: hosts[1], last_reason: "worker_died" },
          reasons: `1: worker_died on ${hosts[0]}; 2: worker_died on ${hosts[1]}`,
        },
      },
    });
  });
});

describe("cancel", () => {
  it("of a task whose boot is DEAD ends at once, whatever its age, and nothing later changes that (T3)", async () => {
    const [one, two] = [await f.running(worker), await f.running(worker)];
    await f.ledger.tasks.cancel(one);
    await f.dies(worker);

    const reply = await f.ledger.tasks.cancel(two);
    expect(reply).toMatchObject({
      kind: "cancelled",
      outcome: { status: "CANCELLED", ran: true, cleanup_pending: true },
    });
    await f.advance(LOST_TAIL_MS);
    expect(await f.ledger.boots.recover(worker.boot_id, 10)).toMatchObject({
      ...{ requeued: [], settled: [{ task_id: one.task_id }], left: 0 },
    });

    expect((await f.ledger.tasks.view(one))?.outcome).toMatchObject({ status: "CANCELLED" });
    expect(await f.ledger.tasks.settle(two, outcomeOf(two))).toEqual({ kind: "fenced" });
    expect(await f.ledger.boots.free(worker.boot_id, { kind: "bound" })).toMatchObject({ left: 0 });
    expect(await f.ledger.tasks.cancel(two)).toMatchObject({ kind: "cancelled" });
  });
});
