/** A host that has no room names one that has, and a route that leads to a boot which takes nothing is left again. */
import { drawBootId, drawOwnerToken, drawSandboxId } from "@holdfast/contract";
import { bootQueue, type Delivery, LOST_TAIL_MS } from "@holdfast/ledger";
import { describe, expect, it } from "vitest";
import { type LedgerFixture, LIMITS, outcomeOf, request, useFreshLedger, type Worker } from "./ledger-fixture.js";

const ONE_SLOT = { ...LIMITS, slots: 1 };
let f: LedgerFixture;
let full: Worker;
let counter = 0;

useFreshLedger(async (fixture) => {
  f = fixture;
  full = await f.register({ limits: ONE_SLOT });
  await f.running(full);
});

async function beat(worker: Worker, engine_healthy = true): Promise<void> {
  counter += 1;
  const call = { ...worker, counter, held: [], fence_seen: null, engine_healthy };
  expect(await f.ledger.boots.beat(call)).toMatchObject({ kind: "ok" });
}

async function moved(from: Worker, delivery: Delivery): Promise<Delivery> {
  const reply = await f.admit(from, delivery);
  if (reply.kind !== "elsewhere") throw new Error(`not elsewhere: ${JSON.stringify(reply)}`);
  return reply.delivery;
}

describe("elsewhere", () => {
  it("names a boot of a host with room, records the route and counts a new delivery, in one step (T2)", async () => {
    const roomy = await f.register({ limits: ONE_SLOT });
    const old = await f.accept();

    const delivery = await moved(full, old);

    const queue = bootQueue(roomy.boot_id);
    expect(delivery).toEqual({ ...old, delivery: 2, queue, job_id: `default.${old.task_id}.2` });
    expect(await f.admit(full, old)).toEqual({ kind: "stale" });
    const again = await f.ledger.tasks.accept(request({ task_id: old.task_id }), { queue: "tasks", job_id: null });
    expect(again).toMatchObject({ kind: "existing", delivery });
    const grant = await f.granted(roomy, delivery);
    expect(await f.redis.exists(`${f.root}:boot:${roomy.boot_id}:routes`)).toBe(0);
    await f.ledger.tasks.release(grant);
  });

  it("sent again by its token answers the same and counts no further delivery (T2)", async () => {
    await f.register({ limits: ONE_SLOT });
    const call = { ...(await f.accept()), ...full, sandbox_id: drawSandboxId(), owner_token: drawOwnerToken() };

    const replies = [await f.ledger.tasks.admit(call), await f.ledger.tasks.admit(call)];

    expect(replies[0]).toMatchObject({ kind: "elsewhere", delivery: { delivery: 2 } });
    expect(replies[1]).toEqual(replies[0]);
    expect(await f.ledger.tasks.admit({ ...call, owner_token: drawOwnerToken() })).toEqual({ kind: "stale" });
  });

  it("counts only what is on its way: one that was sent there and waits there by now keeps no older one back (T2)", async () => {
    const roomy = await f.register({ limits: ONE_SLOT });
    const older = await f.accept();
    await f.advance(1);
    const [sent, quick] = [await f.accept(), await f.accept()];
    const there = await moved(full, sent);
    const holder = await f.granted(roomy, quick);
    expect(await f.admit(roomy, there)).toMatchObject({ kind: "parked", scope: "host" });
    expect(await f.admit(full, older)).toMatchObject({ kind: "parked", scope: "host" });
    await f.finish(holder);

    expect(await f.ledger.tasks.look(older)).toBe(true);
    expect(await f.ledger.tasks.look(there)).toBe(false);
    expect(await f.admit(full, older)).toMatchObject({
      kind: "elsewhere",
      delivery: { queue: bootQueue(roomy.boot_id) },
    });
    for (const task of [older, sent]) await f.ledger.tasks.cancel(task);
  });

  it("that is denied where it was sent wakes the older one its room was kept from (T2)", async () => {
    const roomy = await f.register({ limits: ONE_SLOT });
    const older = await f.accept();
    await f.advance(1);
    const there = await moved(full, await f.accept());
    expect(await f.admit(full, older)).toMatchObject({ kind: "parked", scope: "host", promotions: [] });
    expect(await f.ledger.tasks.look(older), "that room is promised").toBe(false);

    const denied = await f.admit(roomy, there);

    expect(denied).toMatchObject({ kind: "parked", scope: "host", promotions: [{ task_id: older.task_id }] });
    expect(await f.ledger.tasks.look(older)).toBe(true);
    for (const task of [older, there]) await f.ledger.tasks.cancel(task);
  });

  it("is not answered where no other host offers, is healthy, lives, or has room", async () => {
    const hosts = [
      await f.register({ limits: ONE_SLOT, images: [] }),
      await f.register({ limits: ONE_SLOT, runtimes: ["runsc"] }),
      await f.register({ limits: { ...ONE_SLOT, cpu_milli: 10 } }),
      await f.register({ limits: ONE_SLOT }),
      await f.register({ limits: ONE_SLOT }),
      await f.register({ limits: ONE_SLOT }),
    ];
    const [, , , sick, draining, taken] = hosts;
    if (!sick || !draining || !taken) throw new Error("six hosts");
    await beat(sick, false);
    await f.ledger.boots.drain(draining.boot_id);
    await f.running(taken);

    const waits = await f.accept();
    expect(await f.admit(full, waits)).toMatchObject({ kind: "parked", scope: "host" });
    await beat(sick, true);
    expect((await moved(full, waits)).queue).toBe(bootQueue(sick.boot_id));
  });

  it("counts what is on its way to a host as if it had arrived", async () => {
    const roomy = await f.register({ limits: LIMITS });
    for (const n of [1, 2]) {
      await f.advance(n);
      expect((await moved(full, await f.accept())).queue).toBe(bootQueue(roomy.boot_id));
    }

    expect(await f.admit(full, await f.accept())).toMatchObject({ kind: "parked", scope: "host" });
  });

  it("gives no newcomer the room that an older waiter could take; the waiter itself leaves the list", async () => {
    const old = await f.accept();
    await f.advance(1);
    expect(await f.admit(full, old)).toMatchObject({ kind: "parked", scope: "host" });
    const roomy = await f.register({ limits: ONE_SLOT });
    const young = await f.accept();

    expect(await f.admit(full, young)).toMatchObject({ kind: "parked", scope: "host" });
    expect(await f.ledger.tasks.headsWithRoom()).toMatchObject([{ task_id: old.task_id, queue: "tasks" }]);
    const delivery = await moved(full, old);
    expect(await f.redis.zrange(`${f.root}:waiters:fleet:all`, 0, -1)).toEqual([`default.${young.task_id}`]);
    await f.ledger.tasks.release(await f.granted(roomy, delivery));
  });

  it("is not answered for want of room in the fleet or the workspace", async () => {
    await f.register({ limits: ONE_SLOT });
    await f.ledger.hosts.setLimits("fleet", "all", { slots: 1 });
    expect(await f.admit(full, await f.accept())).toMatchObject({ kind: "parked", scope: "fleet" });
    await f.ledger.hosts.setLimits("workspace", "default", { slots: 1 });
    expect(await f.admit(full, await f.accept())).toMatchObject({ kind: "parked", scope: "workspace" });
  });

  it("makes a plain producer's job a follower of the delivery that goes on", async () => {
    const roomy = await f.register({ limits: ONE_SLOT });
    const reply = await f.ledger.tasks.accept(request(), { queue: "tasks", job_id: "77" });
    if (reply.kind !== "accepted") throw new Error(reply.kind);

    const grant = await f.granted(roomy, await moved(full, reply.delivery));
    const settled = await f.ledger.tasks.settle(grant, outcomeOf(grant));

    expect(settled).toMatchObject({ promotions: [{ queue: "tasks", job_id: "77" }] });
    await f.ledger.tasks.release(grant);
  });

  it("holds for one delivery: what is handed back or healed goes by the shared queue again (T2)", async () => {
    const roomy = await f.register({ limits: LIMITS });
    const lost = await moved(full, await f.accept());
    const grant = await f.granted(roomy, await moved(full, await f.accept()));

    expect(await f.ledger.tasks.redeliver(lost, "delivery_gone")).toMatchObject({ delivery: 3, queue: "tasks" });
    const back = await f.ledger.tasks.requeue(grant, "drain", false);

    expect(back).toMatchObject({ kind: "requeued", delivery: { delivery: 3, queue: "tasks" } });
    expect(await f.redis.exists(`${f.root}:boot:${roomy.boot_id}:routes`)).toBe(0);
    await f.ledger.tasks.release(grant);
  });

  it("is answered by a boot's own queue as well, where its room went while the task travelled", async () => {
    const roomy = await f.register({ limits: ONE_SLOT });
    const delivery = await moved(full, await f.accept());
    await f.running(roomy);
    expect(await f.admit(roomy, delivery)).toMatchObject({ kind: "parked", scope: "host" });
    const third = await f.register({ limits: ONE_SLOT });

    expect(await moved(roomy, delivery)).toMatchObject({ delivery: 3, queue: bootQueue(third.boot_id) });
  });
});

describe("reroute", () => {
  it("sends on what was routed to a boot that died, also where a reader saw the route before (T2)", async () => {
    const roomy = await f.register({ limits: LIMITS });
    const [one, two] = [await moved(full, await f.accept()), await moved(full, await f.accept())];
    expect(await f.ledger.boots.reroute(roomy.boot_id, 10)).toEqual([]);
    await f.dies(roomy);
    await f.advance(LOST_TAIL_MS - 1);
    expect(await f.ledger.boots.reroute(roomy.boot_id, 10)).toEqual([]);
    await f.advance(1);

    expect(await f.ledger.boots.reroute(roomy.boot_id, 1)).toHaveLength(1);
    expect(await f.ledger.boots.reroute(roomy.boot_id, 10)).toHaveLength(1);
    expect(await f.ledger.boots.reroute(roomy.boot_id, 10)).toEqual([]);

    const other = await f.register({ limits: LIMITS });
    for (const old of [one, two]) {
      expect(await f.admit(other, old)).toEqual({ kind: "stale" });
      const next = { ...old, delivery: 3, queue: "tasks", job_id: `default.${old.task_id}.3` };
      await f.ledger.tasks.release(await f.granted(other, next));
    }
  });

  it("keeps the tombstone while a route names the boot (L4, Q1)", async () => {
    const roomy = await f.register({ limits: LIMITS });
    const [one, two, three] = [
      await moved(full, await f.accept()),
      await moved(full, await f.accept({ queue_timeout_seconds: 60 })),
      await f.accept(),
    ];
    expect((await f.admit(full, three)).kind).toBe("parked");
    await f.dies(roomy);
    await f.advance(LOST_TAIL_MS);
    expect(await f.tombstoneLife(roomy)).toBe(-1);

    await f.ledger.tasks.cancel(one);
    expect(await f.tombstoneLife(roomy)).toBe(-1);
    await f.advance(60_000);
    expect((await f.ledger.tasks.expireQueued(10)).ended).toMatchObject([{ task_id: two.task_id }]);

    expect(await f.tombstoneLife(roomy)).toBeGreaterThan(0);
  });

  it("also leaves a boot that drains, has retired, or whose engine is sick", async () => {
    const roomy = await f.register({ limits: LIMITS });
    await moved(full, await f.accept());
    await beat(roomy, false);
    expect(await f.ledger.boots.reroute(roomy.boot_id, 10)).toMatchObject([{ delivery: 3, queue: "tasks" }]);

    await beat(roomy, true);
    await moved(full, await f.accept());
    await f.ledger.boots.drain(roomy.boot_id);
    expect(await f.ledger.boots.reroute(roomy.boot_id, 10)).toMatchObject([{ delivery: 3, queue: "tasks" }]);
    expect(await f.ledger.boots.reroute(drawBootId(), 10)).toEqual([]);
  });

  it("keeps a parked task's place in the list and wakes it where it is by then (T2)", async () => {
    const roomy = await f.register({ limits: ONE_SLOT });
    const delivery = await moved(full, await f.accept());
    const busy = await f.running(roomy);
    expect(await f.admit(roomy, delivery)).toMatchObject({ kind: "parked", scope: "host" });
    await f.dies(roomy);
    await f.advance(LOST_TAIL_MS);
    const [next] = await f.ledger.boots.reroute(roomy.boot_id, 10);
    await f.ledger.boots.recover(roomy.boot_id, 10);

    const fresh = await f.register({ limits: ONE_SLOT });
    expect(await f.ledger.tasks.headsWithRoom()).toMatchObject([{ queue: "tasks", job_id: next?.job_id }]);
    if (next) await f.ledger.tasks.release(await f.granted(fresh, next));
    expect(await f.ledger.tasks.cancel(busy)).toMatchObject({ kind: "cancelled" });
  });
});

describe("a new worker's registration", () => {
  it("names the waiters that have room on its host", async () => {
    const waits = await f.accept();
    expect(await f.admit(full, waits)).toMatchObject({ kind: "parked", scope: "host" });
    const registration = {
      ...{ boot_id: drawBootId(), host_id: full.host_id, limits: null, default_limits: LIMITS },
      ...{ images: [], runtimes: [], engine_version: "1", program_version: "1" },
    };

    expect(await f.ledger.boots.register(registration)).toMatchObject({ kind: "registered", promotions: [] });
    const roomy = { ...registration, boot_id: drawBootId(), host_id: "host_new" as Worker["host_id"] };
    const offers = { images: [{ image: "lab:bb", digest: "sha256:aa" }], runtimes: ["runc"] };
    const reply = await f.ledger.boots.register({ ...roomy, ...offers });

    expect(reply).toMatchObject({ promotions: [{ task_id: waits.task_id, job_id: waits.job_id }] });
    expect(await f.ledger.boots.register({ ...roomy, ...offers })).toEqual(reply);
  });
});
