/** What the ledger says of a task: its phase, whose limit keeps it, and its place. */
import type { TaskName } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { type LedgerFixture, LIMITS, useFreshLedger, type Worker } from "./ledger-fixture.js";
import { type StatusBench, statusBench } from "./ledger-status-bench.js";

let f: LedgerFixture;
let worker: Worker;
let b: StatusBench;

useFreshLedger(async (fixture) => {
  f = fixture;
  worker = await f.register();
  b = statusBench(f, worker);
});

describe("the phase of a task", () => {
  it("goes from the queue to its end, and tells the removal that is left (Q1)", async () => {
    const delivery = await b.accept();
    expect(await b.view(delivery)).toMatchObject({ phase: "queued", waiting: { reason: "queued" }, ended_at_ms: null });

    const grant = await f.granted(worker, delivery);
    expect(await b.view(delivery)).toMatchObject({ phase: "creating", waiting: null, host_id: worker.host_id });
    await f.ledger.tasks.activate(grant, grant.sandbox_id);
    expect(await b.view(delivery)).toMatchObject({ phase: "running", cleanup_pending: false });
    expect(await f.ledger.tasks.requeue(grant, "drain", false)).toMatchObject({ kind: "requeued" });
    const again = await b.view(delivery);
    expect(again).toMatchObject({ phase: "queued", cleanup_pending: true, waiting: { reason: "requeued" } });
    expect(again.given_back).toBe(`1: drain on ${worker.host_id}`);

    await f.advance(5);
    const second = await f.granted(worker, { ...delivery, delivery: 2 });
    await f.finish(second);
    expect(await b.view(delivery)).toMatchObject({
      phase: "cleanup_pending",
      ended_at_ms: f.now(),
      cleanup_pending: true,
    });
    await f.ledger.tasks.release(grant);
    expect(await b.view(delivery)).toMatchObject({ phase: "ended", cleanup_pending: false, status: "SUCCEEDED" });
  });

  it("is recovering under a boot that is DEAD, and sent_to_boot on its way to another host", async () => {
    const lost = await b.granted();
    const other = await f.register();
    await f.dies(worker);
    expect(await b.view(lost)).toMatchObject({ phase: "recovering" });

    await b.beat(other, 1);
    const third = await f.register({ limits: { ...LIMITS, slots: 1 } });
    const filler = await b.granted({}, third);
    const moved = await b.accept();
    expect((await f.admit(third, moved)).kind).toBe("elsewhere");
    expect(await b.view(moved)).toMatchObject({
      phase: "sent_to_boot",
      waiting: { details: { sent_to_host_id: other.host_id } },
    });
    await f.ledger.tasks.cancel(moved);
    await f.finish(filler);
    await f.ledger.tasks.cancel(lost);
  });

  it("tells who ended a waiter: its cancel, or its queue time-out", async () => {
    await f.ledger.hosts.setLimits("workspace", "default", { slots: 1 });
    const first = await b.granted();
    const [given_up, late] = [await b.parked(), await b.parked({ queue_timeout_seconds: 5 })];
    expect((await b.details(late)).queue_timeout_at_ms).toBe(f.now() + 5_000);

    await f.ledger.tasks.cancel(given_up);
    expect(await b.view(given_up)).toMatchObject({
      phase: "ended",
      waiting: null,
      outcome: { error: { code: "CANCELLED" } },
    });
    expect((await b.details(late)).place).toEqual({ list: "workspace", place: 1, of: 1 });
    await f.advance(5_000);
    await f.ledger.tasks.expireQueued(10);
    expect(await b.view(late)).toMatchObject({
      phase: "ended",
      outcome: { ran: false, error: { code: "QUEUE_TIMEOUT" } },
    });
    await f.finish(first);
  });
});

describe("whose limit keeps a task, and its place", () => {
  it("names the workspace's limit with its use and the place in its list, oldest first (C1)", async () => {
    await f.ledger.hosts.setLimits("workspace", "w", { slots: 1, cpu_milli: 1_500 });
    const first = await b.granted({ workspace_id: "w" });
    const [second, third] = [await b.parked({ workspace_id: "w" }), await b.parked({ workspace_id: "w" })];

    expect(await b.details(third)).toMatchObject({
      scope: "workspace",
      short: [
        { amount: "slots", wanted: 1, reserved: 1, limit: 1 },
        { amount: "cpu_milli", wanted: 1_000, reserved: 1_000, limit: 1_500 },
      ],
      place: { list: "workspace", place: 2, of: 2 },
      hosts: [{ host_id: worker.host_id, reason: "room", short: [] }],
    });
    expect((await b.view(third)).waiting?.message).toBe(
      "The workspace has reached its limit. 1 of 1 slots taken, 1 wanted; 1000 of 1500 thousandths of a core taken, " +
        "1000 wanted. It is number 2 of 2 that wait.",
    );
    await f.finish(first);
    expect(await b.view(second)).toMatchObject({
      phase: "parked",
      waiting: { message: "There is room again, and who waits longest is next. It is the next of 2 that wait." },
    });
    for (const name of [second, third]) await f.ledger.tasks.cancel(name);
  });

  it("names the fleet's limit and the place in the fleet's list", async () => {
    await f.ledger.hosts.setLimits("fleet", "all", { slots: 1 });
    const first = await b.granted();
    const second = await b.parked();

    expect(await b.details(second)).toMatchObject({
      scope: "fleet",
      short: [{ amount: "slots", wanted: 1, reserved: 1, limit: 1 }],
      place: { list: "fleet", place: 1, of: 1 },
    });
    await f.ledger.tasks.cancel(second);
    await f.finish(first);
  });

  it("tells the limit that a task in the queue would meet, before any worker has looked at it", async () => {
    const fillers = [await b.granted(), await b.granted()];
    const queued = await b.accept();
    expect(await b.details(queued)).toMatchObject({ scope: "host", place: null, hosts: [{ reason: "full" }] });
    await f.ledger.hosts.setLimits("workspace", "default", { slots: 2 });
    expect(await b.details(queued)).toMatchObject({ scope: "workspace", short: [{ amount: "slots", limit: 2 }] });

    await f.ledger.hosts.setLimits("workspace", "default", null);
    for (const grant of fillers) await f.finish(grant);
    expect(await b.details(queued)).toMatchObject({ scope: null, short: [], hosts: [{ reason: "room" }] });
    await f.ledger.tasks.cancel(queued);
  });

  it("asks a task that holds its share from an earlier attempt for no second one, nor to wait its turn (C1)", async () => {
    await f.ledger.hosts.setLimits("workspace", "w", { slots: 1 });
    const older = await b.accept({ workspace_id: "w" });
    const grant = await b.granted({ workspace_id: "w" });
    expect(await f.admit(worker, older)).toMatchObject({ kind: "parked", scope: "workspace" });
    await f.ledger.tasks.requeue(grant, "drain", false);

    expect(await b.details(grant)).toMatchObject({ scope: null, short: [], hosts: [{ reason: "room" }] });
    expect(await b.details(older)).toMatchObject({ scope: "workspace", short: [{ amount: "slots" }] });
    await f.ledger.tasks.release(grant);
    expect(await b.details(grant)).toMatchObject({ scope: "workspace", short: [] });
    for (const name of [older, grant]) await f.ledger.tasks.cancel(name);
  });

  it("counts as place only what stands in the same list, and closes up when one ahead leaves (T3)", async () => {
    await f.ledger.hosts.setLimits("workspace", "w", { slots: 1 });
    const held = [await b.granted({ workspace_id: "w" }), await b.granted()];
    const here = [await b.parked(), await b.parked(), await b.parked()];
    const there = await b.parked({ workspace_id: "w" });
    const place = async (name: TaskName) => (await b.details(name)).place;

    expect(await Promise.all(here.map(place))).toEqual([1, 2, 3].map((at) => ({ list: "fleet", place: at, of: 3 })));
    expect(await place(there)).toEqual({ list: "workspace", place: 1, of: 1 });
    const [first, second, third] = here;
    if (first) await f.ledger.tasks.cancel(first);
    expect(second && (await place(second))).toEqual({ list: "fleet", place: 1, of: 2 });
    expect(third && (await place(third))).toEqual({ list: "fleet", place: 2, of: 2 });
    for (const name of [...here, there]) await f.ledger.tasks.cancel(name);
    for (const grant of held) await f.finish(grant);
  });
});
