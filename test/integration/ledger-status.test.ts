/** What the ledger says of a task: its phase, whose limit keeps it, its place, and why each host does not take it. */
import type { TaskName, TaskView, WaitDetails } from "@holdfast/contract";
import type { Grant } from "@holdfast/ledger";
import { describe, expect, it } from "vitest";
import { IMAGE, type LedgerFixture, LIMITS, useFreshLedger, type Worker } from "./ledger-fixture.js";

let f: LedgerFixture;
let worker: Worker;

useFreshLedger(async (fixture) => {
  f = fixture;
  worker = await f.register();
});

type More = Parameters<LedgerFixture["accept"]>[0];

/** Accepts in an order that the clock can tell. */
async function accept(more: More = {}) {
  await f.advance(1);
  return f.accept(more);
}

const granted = async (more: More = {}, by = worker): Promise<Grant> => f.granted(by, await accept(more));

/** Refused for want of room, so that it stands in a list. */
async function parked(more: More = {}, by = worker) {
  const delivery = await accept(more);
  expect((await f.admit(by, delivery)).kind).toBe("parked");
  return delivery;
}

async function view(name: TaskName): Promise<TaskView> {
  const found = await f.ledger.tasks.status(name);
  if (!found) throw new Error("no such task");
  return found;
}

async function details(name: TaskName): Promise<WaitDetails> {
  const found = (await view(name)).waiting?.details;
  if (!found) throw new Error("it does not wait");
  return found;
}

const hostReason = async (name: TaskName, of = worker) =>
  (await details(name)).hosts.find(({ host_id }) => host_id === of.host_id)?.reason;

const beat = (of: Worker, counter: number, engine_healthy = true) =>
  f.ledger.boots.beat({ ...of, counter, held: [], fence_seen: null, engine_healthy });

describe("the phase of a task", () => {
  it("goes from the queue to its end, and tells the removal that is left (Q1)", async () => {
    const delivery = await accept();
    expect(await view(delivery)).toMatchObject({ phase: "queued", waiting: { reason: "queued" }, ended_at_ms: null });

    const grant = await f.granted(worker, delivery);
    expect(await view(delivery)).toMatchObject({ phase: "creating", waiting: null, host_id: worker.host_id });
    await f.ledger.tasks.activate(grant);
    expect(await view(delivery)).toMatchObject({ phase: "running", cleanup_pending: false });
    expect(await f.ledger.tasks.requeue(grant, "drain", false)).toMatchObject({ kind: "requeued" });
    const again = await view(delivery);
    expect(again).toMatchObject({ phase: "queued", cleanup_pending: true, waiting: { reason: "requeued" } });
    expect(again.given_back).toBe(`1: drain on ${worker.host_id}`);

    await f.advance(5);
    const second = await f.granted(worker, { ...delivery, delivery: 2 });
    await f.finish(second);
    expect(await view(delivery)).toMatchObject({
      phase: "cleanup_pending",
      ended_at_ms: f.now(),
      cleanup_pending: true,
    });
    await f.ledger.tasks.release(grant);
    expect(await view(delivery)).toMatchObject({ phase: "ended", cleanup_pending: false, status: "SUCCEEDED" });
  });

  it("is recovering under a boot that is DEAD, and sent_to_boot on its way to another host", async () => {
    const lost = await granted();
    const other = await f.register();
    await f.dies(worker);
    expect(await view(lost)).toMatchObject({ phase: "recovering" });

    await beat(other, 1);
    const third = await f.register({ limits: { ...LIMITS, slots: 1 } });
    const filler = await granted({}, third);
    const moved = await accept();
    expect((await f.admit(third, moved)).kind).toBe("elsewhere");
    expect(await view(moved)).toMatchObject({
      phase: "sent_to_boot",
      waiting: { details: { sent_to_host_id: other.host_id } },
    });
    await f.ledger.tasks.cancel(moved);
    await f.finish(filler);
    await f.ledger.tasks.cancel(lost);
  });

  it("tells who ended a waiter: its cancel, or its queue time-out", async () => {
    await f.ledger.hosts.setLimits("workspace", "default", { slots: 1 });
    const first = await granted();
    const [given_up, late] = [await parked(), await parked({ queue_timeout_seconds: 5 })];
    expect((await details(late)).queue_timeout_at_ms).toBe(f.now() + 5_000);

    await f.ledger.tasks.cancel(given_up);
    expect(await view(given_up)).toMatchObject({
      phase: "ended",
      waiting: null,
      outcome: { error: { code: "CANCELLED" } },
    });
    expect((await details(late)).place).toEqual({ list: "workspace", place: 1, of: 1 });
    await f.advance(5_000);
    await f.ledger.tasks.expireQueued(10);
    expect(await view(late)).toMatchObject({
      phase: "ended",
      outcome: { ran: false, error: { code: "QUEUE_TIMEOUT" } },
    });
    await f.finish(first);
  });
});

describe("whose limit keeps a task, and its place", () => {
  it("names the workspace's limit with its use and the place in its list, oldest first (C1)", async () => {
    await f.ledger.hosts.setLimits("workspace", "w", { slots: 1, cpu_milli: 1_500 });
    const first = await granted({ workspace_id: "w" });
    const [second, third] = [await parked({ workspace_id: "w" }), await parked({ workspace_id: "w" })];

    expect(await details(third)).toMatchObject({
      scope: "workspace",
      short: [
        { amount: "slots", wanted: 1, reserved: 1, limit: 1 },
        { amount: "cpu_milli", wanted: 1_000, reserved: 1_000, limit: 1_500 },
      ],
      place: { list: "workspace", place: 2, of: 2 },
      hosts: [{ host_id: worker.host_id, reason: "room", short: [] }],
    });
    expect((await view(third)).waiting?.message).toBe(
      "The workspace has reached its limit. 1 of 1 slots taken, 1 wanted; 1000 of 1500 thousandths of a core taken, " +
        "1000 wanted. It is number 2 of 2 that wait.",
    );
    await f.finish(first);
    expect(await view(second)).toMatchObject({
      phase: "parked",
      waiting: { message: "There is room again, and who waits longest is next. It is the next of 2 that wait." },
    });
    for (const name of [second, third]) await f.ledger.tasks.cancel(name);
  });

  it("names the fleet's limit and the place in the fleet's list", async () => {
    await f.ledger.hosts.setLimits("fleet", "all", { slots: 1 });
    const first = await granted();
    const second = await parked();

    expect(await details(second)).toMatchObject({
      scope: "fleet",
      short: [{ amount: "slots", wanted: 1, reserved: 1, limit: 1 }],
      place: { list: "fleet", place: 1, of: 1 },
    });
    await f.ledger.tasks.cancel(second);
    await f.finish(first);
  });

  it("tells the limit that a task in the queue would meet, before any worker has looked at it", async () => {
    const fillers = [await granted(), await granted()];
    const queued = await accept();
    expect(await details(queued)).toMatchObject({ scope: "host", place: null, hosts: [{ reason: "full" }] });
    await f.ledger.hosts.setLimits("workspace", "default", { slots: 2 });
    expect(await details(queued)).toMatchObject({ scope: "workspace", short: [{ amount: "slots", limit: 2 }] });

    await f.ledger.hosts.setLimits("workspace", "default", null);
    for (const grant of fillers) await f.finish(grant);
    expect(await details(queued)).toMatchObject({ scope: null, short: [], hosts: [{ reason: "room" }] });
    await f.ledger.tasks.cancel(queued);
  });

  it("counts as place only what stands in the same list, and closes up when one ahead leaves (T3)", async () => {
    await f.ledger.hosts.setLimits("workspace", "w", { slots: 1 });
    const held = [await granted({ workspace_id: "w" }), await granted()];
    const here = [await parked(), await parked(), await parked()];
    const there = await parked({ workspace_id: "w" });
    const place = async (name: TaskName) => (await details(name)).place;

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

describe("why a host does not take a task", () => {
  it("full, with what is short; kept_for_older while its room is another's; then room", async () => {
    const big = await granted({ resources: { cpu: 3 } });
    const older = await parked({ resources: { cpu: 2 } });
    const younger = await accept();

    expect((await details(older)).hosts).toEqual([
      {
        host_id: worker.host_id,
        reason: "full",
        short: [{ amount: "cpu_milli", wanted: 2_000, reserved: 3_000, limit: 4_000 }],
      },
    ]);
    expect(await details(younger)).toMatchObject({ scope: "host", hosts: [{ reason: "kept_for_older" }] });
    await f.finish(big);
    expect(await hostReason(older)).toBe("room");
    await f.ledger.tasks.cancel(older);
    expect(await hostReason(younger)).toBe("room");
    await f.ledger.tasks.cancel(younger);
  });

  it("image_absent, runtime_absent, too_small: one host each, while another could", async () => {
    const images = [{ image: "other:1", digest: "sha256:cc" }];
    const [bare, plain] = [await f.register({ images }), await f.register({ runtimes: ["runsc"] })];
    const small = await f.register({ limits: { ...LIMITS, cpu_milli: 2_000 } });
    const delivery = await accept({ resources: { cpu: 3 } });

    expect(await hostReason(delivery, bare)).toBe("image_absent");
    expect(await hostReason(delivery, plain)).toBe("runtime_absent");
    const row = (await details(delivery)).hosts.find(({ host_id }) => host_id === small.host_id);
    expect(row).toMatchObject({ reason: "too_small", short: [{ amount: "cpu_milli", wanted: 3_000, limit: 2_000 }] });
    expect(await hostReason(delivery)).toBe("room");
    expect((await view(delivery)).waiting?.reason).toBe("queued");
    await f.ledger.tasks.cancel(delivery);
  });

  it("engine_unavailable, draining, no_worker; the whole fleet's reason is the least of what is in the way", async () => {
    const other = await f.register();
    const delivery = await accept();
    await beat(worker, 1, false);
    expect(await hostReason(delivery)).toBe("engine_unavailable");
    expect((await view(delivery)).waiting?.reason).toBe("queued");
    await f.ledger.boots.drain(other.boot_id);
    expect(await hostReason(delivery, other)).toBe("draining");
    expect((await view(delivery)).waiting?.reason).toBe("engine_unavailable");

    await f.advance(7_999);
    await beat(other, 1);
    await f.advance(1);
    expect(await hostReason(delivery)).toBe("no_worker");
    expect((await view(delivery)).waiting?.reason).toBe("draining");
    await f.advance(8_000);
    expect((await view(delivery)).waiting?.reason).toBe("no_worker");
    await f.ledger.tasks.cancel(delivery);
  });

  it("draining, for a host out of service, with a worker or without", async () => {
    const delivery = await accept();
    await f.ledger.hosts.setDraining(worker.host_id, true);
    expect(await view(delivery)).toMatchObject({
      waiting: { reason: "draining", details: { hosts: [{ reason: "draining" }] } },
    });
    await f.advance(8_000);
    expect(await hostReason(delivery)).toBe("draining");
    await f.ledger.hosts.setDraining(worker.host_id, false);
    expect(await hostReason(delivery)).toBe("no_worker");
    await f.ledger.tasks.cancel(delivery);
  });

  it("grants_closed, with how long still", async () => {
    const delivery = await accept();
    await f.redis.hset(`${f.root}:fleet`, "grants_open_at_ms", `${f.now() + 3_000}`);

    expect(await details(delivery)).toMatchObject({ grants_open_in_ms: 3_000, hosts: [{ reason: "grants_closed" }] });
    const { waiting } = await view(delivery);
    expect(waiting).toMatchObject({ reason: "grants_closed" });
    expect(waiting?.message).toContain("Grants open in 3 s.");
    await f.ledger.tasks.cancel(delivery);
  });

  it("says of a fleet without hosts that no worker is there", async () => {
    const delivery = await accept();
    await f.redis.srem(`${f.root}:hosts`, worker.host_id);

    expect((await view(delivery)).waiting).toMatchObject({ reason: "no_worker", details: { hosts: [] } });
    await f.redis.sadd(`${f.root}:hosts`, worker.host_id);
    await f.ledger.tasks.cancel(delivery);
  });

  it("shows another workspace nothing (W1), and changes no byte", async () => {
    const delivery = await accept({ workspace_id: "w" });
    const before = await f.digest();

    expect(
      await f.ledger.tasks.status({ ...delivery, workspace_id: "other" as typeof delivery.workspace_id }),
    ).toBeNull();
    await f.ledger.tasks.status(delivery);
    await f.ledger.tasks.list({ workspace_id: "w", cursor: null, limit: 10, image: IMAGE });
    expect(await f.digest()).toBe(before);
    await f.ledger.tasks.cancel(delivery);
  });
});
