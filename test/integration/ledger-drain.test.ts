/** A host out of service: a fact of its record, whichever boots it has, until it is taken back. */
import { drawHostId, drawOwnerToken, drawSandboxId } from "@holdfast/contract";
import { bootQueue } from "@holdfast/ledger";
import { describe, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { type LedgerFixture, LIMITS, useFreshLedger, type Worker } from "./ledger-fixture.js";

const ONE_SLOT = { ...LIMITS, slots: 1 };
const DRAINING = { kind: "draining", whose: "host" };
let f: LedgerFixture;
let worker: Worker;

useFreshLedger(async (fixture) => {
  f = fixture;
  worker = await f.register({ limits: LIMITS });
});

const drain = (of: Worker) => f.ledger.hosts.setDraining(of.host_id, true);
const undrain = (of: Worker) => f.ledger.hosts.setDraining(of.host_id, false);
const beat = (of: Worker, counter: number) =>
  f.ledger.boots.beat({ ...of, counter, held: [], fence_seen: null, engine_healthy: true });

describe("a host that is drained", () => {
  it("is granted nothing through any boot, one that registers later among them, until it is taken back", async () => {
    const delivery = await f.accept();
    expect(await drain(worker)).toEqual({ kind: "done", promotions: [] });
    expect(await drain(worker)).toEqual({ kind: "done", promotions: [] });
    const later = await f.register({ host_id: worker.host_id, limits: null });

    expect(await f.admit(worker, delivery)).toEqual(DRAINING);
    expect(await f.admit(later, delivery)).toEqual(DRAINING);
    expect((await f.ledger.tasks.view(delivery))?.delivery).toBe(1);

    await undrain(worker);
    await f.finish(await f.granted(later, delivery));
  });

  it("lets what it was granted go on to its end, a re-sent admit included (T2)", async () => {
    const delivery = await f.accept();
    const call = { ...delivery, ...worker, sandbox_id: drawSandboxId(), owner_token: drawOwnerToken() };
    const first = await f.ledger.tasks.admit(call);
    if (first.kind !== "granted") throw new Error(first.kind);

    await drain(worker);

    expect(await f.ledger.tasks.admit(call)).toEqual(first);
    expect(await f.ledger.tasks.activate(first.grant, first.grant.sandbox_id)).toMatchObject({ kind: "active" });
    await f.finish(first.grant);
  });

  it("is no boot's own way to its end: the beat tells both apart, and a boot that drains does so for good", async () => {
    await drain(worker);
    expect(await beat(worker, 1)).toMatchObject({ draining: false, host_draining: true });
    await f.ledger.boots.drain(worker.boot_id);
    await undrain(worker);

    expect(await beat(worker, 2)).toMatchObject({ draining: true, host_draining: false });
    expect(await f.admit(worker, await f.accept())).toEqual({ kind: "draining", whose: "boot" });
  });

  it("stays so when its last boot has retired, and is shown", async () => {
    await drain(worker);
    await f.ledger.boots.retire(worker.boot_id);
    const next = await f.register({ host_id: worker.host_id, limits: null });

    expect(await f.ledger.hosts.list()).toMatchObject([{ host_id: worker.host_id, draining: true }]);
    expect(await beat(next, 1)).toMatchObject({ host_draining: true });
    await undrain(next);
    expect(await f.ledger.hosts.list()).toMatchObject([{ draining: false }]);
  });

  it("is not named elsewhere, and what was sent to its boots goes back to where it came from (T2)", async () => {
    const full = await f.register({ limits: ONE_SLOT });
    await f.running(full);
    const sent = await f.admit(full, await f.accept());
    expect(sent).toMatchObject({ kind: "elsewhere", delivery: { queue: bootQueue(worker.boot_id) } });
    expect(await f.ledger.boots.reroute(worker.boot_id, 10)).toEqual([]);

    await drain(worker);

    expect(await f.ledger.boots.reroute(worker.boot_id, 10)).toMatchObject([{ delivery: 3, queue: "tasks" }]);
    expect(await f.admit(full, await f.accept())).toMatchObject({ kind: "parked", scope: "host" });
  });

  it("is no room for waiters, nor for those that a new boot of it would wake, and wakes them when it is back", async () => {
    const full = await f.register({ limits: ONE_SLOT });
    await f.running(full);
    await drain(worker);
    const waits = await f.accept();
    expect(await f.admit(full, waits)).toMatchObject({ kind: "parked", scope: "host" });

    expect(await f.ledger.tasks.headsWithRoom()).toEqual([]);
    await f.register({ host_id: worker.host_id, limits: null });
    const back = await undrain(worker);

    expect(back).toMatchObject({ kind: "done", promotions: [{ task_id: waits.task_id, job_id: waits.job_id }] });
    expect(await undrain(worker)).toEqual(back);
    expect(await f.ledger.tasks.headsWithRoom()).toHaveLength(1);
  });

  it("keeps a task waiting that only it could ever run, and does not refuse it (T2)", async () => {
    await f.register({ limits: { ...LIMITS, cpu_milli: 500 } });
    const large = await f.accept({ resources: { cpu: 4 } });
    await drain(worker);
    expect(await f.admit(worker, large)).toEqual(DRAINING);

    await undrain(worker);
    await f.finish(await f.granted(worker, large));
  });

  it("rings for each of its boots, when it drains and when it is back", async () => {
    const second = await f.register({ host_id: worker.host_id, limits: null });
    const rung: string[] = [];
    for (const { boot_id } of [worker, second]) await f.ledger.boots.onBell(boot_id, () => void rung.push(boot_id));

    await drain(worker);
    await waitFor(() => rung.length === 2, { bound_ms: 5_000, what: "both boots heard of the drain" });
    await undrain(worker);
    await waitFor(() => rung.length === 4, { bound_ms: 5_000, what: "both boots heard that it is over" });

    expect(rung.filter((boot_id) => boot_id === worker.boot_id)).toHaveLength(2);
  });

  it("is unknown where no worker ever registered it, and leaves no trace then (Q1)", async () => {
    const before = await f.digest();

    expect(await f.ledger.hosts.setDraining(drawHostId(), true)).toEqual({ kind: "unknown" });

    expect(await f.digest()).toBe(before);
  });
});
