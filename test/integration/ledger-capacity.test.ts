/** Room in every scope, waiting lists and their heads (C1). */
import type { Grant } from "@holdfast/ledger";
import { describe, expect, it } from "vitest";
import { DIGEST, IMAGE, type LedgerFixture, LIMITS, outcomeOf, useFreshLedger, type Worker } from "./ledger-fixture.js";

let f: LedgerFixture;
let worker: Worker;

useFreshLedger(async (fixture) => {
  f = fixture;
  worker = await f.register();
});

/** Accepts in an order that the clock can tell. */
async function accept(more: Parameters<LedgerFixture["accept"]>[0] = {}) {
  await f.advance(1);
  return f.accept(more);
}

async function end(grant: Grant) {
  await f.ledger.tasks.settle(grant, outcomeOf(grant));
  return f.ledger.tasks.release(grant);
}

describe("room", () => {
  it("grants the last slot once, however many workers ask for it at the same moment (C1)", async () => {
    const second = await f.register({ host_id: worker.host_id });
    const deliveries = await Promise.all(Array.from({ length: 8 }, () => f.accept()));

    const replies = await Promise.all(deliveries.map((each, n) => f.admit(n % 2 === 0 ? worker : second, each)));

    expect(replies.filter(({ kind }) => kind === "granted")).toHaveLength(LIMITS.slots);
    expect(replies.filter(({ kind }) => kind === "parked")).toHaveLength(8 - LIMITS.slots);
  });

  it.each([
    ["cpu", { cpu: 4 }],
    ["memory", { memory_mb: LIMITS.memory_mb - 128 - 256 }],
    ["processes", { pids_limit: LIMITS.pids - 2 }],
  ])(
    "counts %s to the last unit: what fills a host fits, and one more of the least waits (C1)",
    async (_, resources) => {
      const whole = await f.granted(worker, await accept({ resources }));

      expect(await f.admit(worker, await accept({ resources: { cpu: 0.05, memory_mb: 16 } }))).toMatchObject({
        kind: "parked",
        scope: "host",
      });
      expect(await f.ledger.tasks.requeue(whole, "drain", false)).toMatchObject({ kind: "requeued" });
    },
  );

  it("asks the workspace before the host and the fleet, and moves a waiter to the list that denied it last (C1)", async () => {
    await f.ledger.hosts.setLimits("workspace", "small", { slots: 1 });
    const first = await f.granted(worker, await accept({ workspace_id: "small" }));
    const filler = await f.granted(worker, await accept());
    const waiter = await accept({ workspace_id: "small" });

    expect(await f.admit(worker, waiter)).toMatchObject({ kind: "parked", scope: "workspace" });
    expect((await f.ledger.tasks.view(waiter))?.waiting?.reason).toBe("workspace_full");
    await end(first);
    const rival = await f.granted(worker, await accept());
    expect(await f.admit(worker, waiter)).toMatchObject({ kind: "parked", scope: "host" });
    expect((await f.ledger.tasks.view(waiter))?.waiting?.reason).toBe("host_full");
    expect(await f.redis.exists(`${f.root}:waiters:workspace:small`)).toBe(0);
    await end(filler);
    const granted = await f.granted(worker, waiter);
    expect(await f.redis.exists(`${f.root}:waiters:fleet:all`)).toBe(0);
    await end(granted);
    await end(rival);
  });

  it("holds the fleet's limit over all hosts (C1)", async () => {
    await f.ledger.hosts.setLimits("fleet", "ignored", { slots: 1 });
    const other = await f.register();
    const first = await f.granted(worker, await accept());
    const waiter = await accept();

    expect(await f.admit(other, waiter)).toMatchObject({ kind: "parked", scope: "fleet" });
    expect((await f.ledger.tasks.view(waiter))?.waiting?.reason).toBe("fleet_full");
    expect((await end(first)).promotions).toMatchObject([{ task_id: waiter.task_id }]);
    await f.ledger.hosts.setLimits("fleet", "ignored", null);
    await end(await f.granted(other, waiter));
  });
});

describe("waiting lists", () => {
  it("refuses a newcomer while an older waiter could take the room, and admits the head", async () => {
    const [one, two] = [await f.granted(worker, await accept()), await f.granted(worker, await accept())];
    const old = await accept();
    expect(await f.admit(worker, old)).toMatchObject({ kind: "parked", scope: "host" });
    const young = await accept();

    const { promotions } = await end(one);
    expect(promotions).toMatchObject([{ task_id: old.task_id, queue: "tasks", job_id: old.job_id }]);
    expect(await f.admit(worker, young)).toMatchObject({ kind: "parked", scope: "host" });
    const granted = await f.granted(worker, old);
    expect((await end(two)).promotions).toMatchObject([{ task_id: young.task_id }]);
    await end(await f.granted(worker, young));
    await end(granted);
  });

  it("refuses a newcomer of a workspace whose older waiter could take the room, and nobody of another", async () => {
    await f.ledger.hosts.setLimits("workspace", "w", { slots: 1 });
    const first = await f.granted(worker, await accept({ workspace_id: "w" }));
    const old = await accept({ workspace_id: "w" });
    expect(await f.admit(worker, old)).toMatchObject({ kind: "parked", scope: "workspace" });
    await end(first);

    expect(await f.admit(worker, await accept({ workspace_id: "w" }))).toMatchObject({
      kind: "parked",
      scope: "workspace",
    });
    const stranger = await f.granted(worker, await accept({ workspace_id: "other" }));
    await end(await f.granted(worker, old));
    await end(stranger);
  });

  it("lets a small task pass a waiter that this host could never serve", async () => {
    const big = await f.register({ limits: { ...LIMITS, cpu_milli: 64_000 } });
    const full = await f.granted(big, await accept({ resources: { cpu: 64 } }));
    expect(await f.admit(big, await accept({ resources: { cpu: 32 } }))).toMatchObject({ kind: "parked" });

    const reply = await f.admit(big, await accept());

    if (reply.kind !== "elsewhere") throw new Error(reply.kind);
    await end(await f.granted(worker, reply.delivery));
    await end(full);
  });

  it("loses no wake-up where one is released while another is being parked", async () => {
    let parked = 0;
    for (let round = 0; round < 40; round += 1) {
      const [one, two] = [await f.granted(worker, await accept()), await f.granted(worker, await accept())];
      const waiter = await accept();
      await f.ledger.tasks.settle(one, outcomeOf(one));

      const calls = [() => f.ledger.tasks.release(one), () => f.admit(worker, waiter)] as const;
      const [released, admitted] =
        round % 2 === 0
          ? await Promise.all([calls[0](), calls[1]()])
          : (await Promise.all([calls[1](), calls[0]()])).toReversed();

      if (admitted?.kind === "parked") {
        parked += 1;
        expect(released).toMatchObject({ promotions: [{ task_id: waiter.task_id }] });
        await end(await f.granted(worker, waiter));
      } else if (admitted?.kind === "granted") await end(admitted.grant);
      await end(two);
    }
    expect(parked).toBeGreaterThan(0);
  });

  it("promotes as many heads as there is room for, oldest first, and none into room that an older one needs", async () => {
    const one = await f.granted(worker, await accept({ resources: { cpu: 2 } }));
    const two = await f.granted(worker, await accept({ resources: { cpu: 2 } }));
    const wide = await accept({ resources: { cpu: 3 } });
    const narrow = await accept({ resources: { cpu: 1 } });
    for (const each of [wide, narrow]) expect(await f.admit(worker, each)).toMatchObject({ kind: "parked" });

    expect((await end(one)).promotions).toEqual([]);
    expect(await f.ledger.tasks.headsWithRoom()).toEqual([]);
    const ids = (await end(two)).promotions.map(({ task_id }) => task_id);
    expect(ids).toEqual([wide.task_id, narrow.task_id]);
    expect((await f.ledger.tasks.headsWithRoom()).map(({ task_id }) => task_id)).toEqual(ids);
    await end(await f.granted(worker, wide));
    await end(await f.granted(worker, narrow));
  });

  it("finds heads of every workspace that has room", async () => {
    const waiters = [];
    for (const workspace_id of ["a", "b"]) {
      await f.ledger.hosts.setLimits("workspace", workspace_id, { slots: 0 });
      const waiter = await accept({ workspace_id });
      expect(await f.admit(worker, waiter)).toMatchObject({ kind: "parked", scope: "workspace" });
      waiters.push(waiter);
    }
    expect(await f.ledger.tasks.headsWithRoom()).toEqual([]);

    for (const workspace_id of ["a", "b"]) await f.ledger.hosts.setLimits("workspace", workspace_id, { slots: 1 });

    const heads = (await f.ledger.tasks.headsWithRoom()).map(({ task_id }) => task_id);
    expect(heads.toSorted()).toEqual(waiters.map(({ task_id }) => task_id).toSorted());
    for (const waiter of waiters) await f.ledger.tasks.cancel(waiter);
    expect(await f.redis.exists(`${f.root}:waiting`)).toBe(0);
  });

  it("does not promote into a host whose engine is sick or whose workers drain", async () => {
    const [one, two] = [await f.granted(worker, await accept()), await f.granted(worker, await accept())];
    const waiter = await accept();
    await f.admit(worker, waiter);
    const beat = { boot_id: worker.boot_id, held: [one.owner_token, two.owner_token], fence_seen: null };

    await f.ledger.boots.beat({ ...beat, counter: 1, engine_healthy: false });
    expect((await end(one)).promotions).toEqual([]);
    await f.ledger.boots.beat({ ...beat, counter: 2, engine_healthy: true });
    expect(await f.ledger.tasks.headsWithRoom()).toHaveLength(1);
    await f.ledger.boots.drain(worker.boot_id);
    expect(await f.ledger.tasks.headsWithRoom()).toEqual([]);
    await end(two);
  });

  it("parks a task whose host's engine is sick, and names the outage in its status", async () => {
    const delivery = await accept();
    await f.ledger.boots.beat({ ...worker, counter: 1, held: [], fence_seen: null, engine_healthy: false });

    expect(await f.admit(worker, delivery)).toMatchObject({ kind: "parked", scope: "host" });

    expect((await f.ledger.tasks.view(delivery))?.waiting).toMatchObject({ reason: "engine_unavailable" });
    await f.ledger.boots.beat({ ...worker, counter: 2, held: [], fence_seen: null, engine_healthy: true });
    expect((await f.ledger.tasks.headsWithRoom()).map(({ task_id }) => task_id)).toEqual([delivery.task_id]);
    await f.ledger.tasks.cancel(delivery);
  });

  it("parks a task on a host that lacks its image while the one that offers it has no room", async () => {
    const other = await f.register({ images: [{ image: "other:1", digest: DIGEST }], limits: { ...LIMITS, slots: 1 } });
    const grant = await f.granted(other, await accept({ image: "other:1" }));
    const delivery = await accept({ image: "other:1" });

    expect(await f.admit(worker, delivery)).toMatchObject({ kind: "parked", scope: "host" });
    expect(await f.ledger.tasks.headsWithRoom()).toEqual([]);
    await end(grant);
    expect((await f.ledger.tasks.headsWithRoom()).map(({ task_id }) => task_id)).toEqual([delivery.task_id]);
    await end(await f.granted(other, delivery));
  });

  it("says no_worker or draining where nobody alive takes tasks of this image", async () => {
    const delivery = await accept();
    const reason = () => f.ledger.tasks.view(delivery).then((view) => view?.waiting?.reason);

    expect(await reason()).toBe("queued");
    await f.advance(8_000);
    expect(await reason()).toBe("no_worker");
    await f.ledger.boots.beat({ ...worker, counter: 1, held: [], fence_seen: null, engine_healthy: true });
    expect(await reason()).toBe("queued");
    await f.ledger.boots.drain(worker.boot_id);
    expect(await reason()).toBe("draining");
    await f.ledger.tasks.cancel(delivery);
  });
});

describe("limits", () => {
  it("are fixed by the first worker of a host: another's are refused with both shown (C1)", async () => {
    const offered = { ...LIMITS, slots: 9 };
    const registration = {
      ...{ ...worker, boot_id: "boot_second" as Worker["boot_id"], limits: offered, default_limits: offered },
      ...{ images: [{ image: IMAGE, digest: DIGEST }], runtimes: ["runc"], engine_version: "1", program_version: "1" },
    };

    expect(await f.ledger.boots.register(registration)).toEqual({ kind: "limits_differ", recorded: LIMITS, offered });
    expect(await f.ledger.boots.register({ ...registration, limits: null })).toMatchObject({ limits: LIMITS });
  });

  it("are fixed anew once no worker of the host lives and what is reserved still fits (C1)", async () => {
    const grant = await f.granted(worker, await accept());
    await f.advance(8_000);
    const again = { ...worker, boot_id: "boot_again" as Worker["boot_id"], default_limits: LIMITS };
    const rest = {
      ...{ images: [{ image: IMAGE, digest: DIGEST }], runtimes: ["runc"], engine_version: "1", program_version: "1" },
    };

    const small = await f.ledger.boots.register({ ...again, ...rest, limits: { ...LIMITS, slots: 0 } });
    const large = await f.ledger.boots.register({ ...again, ...rest, limits: { ...LIMITS, slots: 5 } });

    expect(small).toMatchObject({ kind: "limits_differ" });
    expect(large).toMatchObject({ kind: "registered", limits: { ...LIMITS, slots: 5 } });
    await f.ledger.tasks.release(grant);
  });

  it("can be changed for a registered host only", async () => {
    await f.ledger.hosts.setLimits("host", worker.host_id, { slots: 3 });

    expect((await f.ledger.hosts.list())[0]?.limits).toEqual({ ...LIMITS, slots: 3 });
    await expect(f.ledger.hosts.setLimits("host", "host_x", { slots: 3 })).rejects.toMatchObject({
      code: "HOST_NOT_FOUND",
    });
    await expect(f.ledger.hosts.setLimits("host", worker.host_id, null)).rejects.toMatchObject({ field: "limits" });
  });

  it("hold one digest a ref in the whole fleet, as far as anybody alive offers it", async () => {
    const registration = {
      ...{ boot_id: "boot_x" as Worker["boot_id"], host_id: "host_x" as Worker["host_id"], limits: null },
      ...{ default_limits: LIMITS, images: [{ image: IMAGE, digest: "sha256:bb" }], runtimes: ["runc"] },
      ...{ engine_version: "1", program_version: "1" },
    };

    const differs = { kind: "image_differs", image: IMAGE, recorded: DIGEST, offered: "sha256:bb" };
    expect(await f.ledger.boots.register(registration)).toEqual(differs);
    await f.advance(8_000);
    expect(await f.ledger.boots.register(registration)).toMatchObject({ kind: "registered" });
  });
});
