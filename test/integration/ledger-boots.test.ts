/** Lives of boots: lease, beat, drain, retire, and the fence of the fleet (L1, L3, L4). */
import { drawBootId, drawFleetId, drawOwnerToken, type Fence } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { LEASE_MS, type LedgerFixture, outcomeOf, useFreshLedger, type Worker } from "./ledger-fixture.js";

let f: LedgerFixture;
let worker: Worker;

useFreshLedger(async (fixture) => {
  f = fixture;
  worker = await f.register();
});

function beat(counter: number, held: readonly string[] = [], more: { fence_seen?: string } = {}) {
  const fence_seen = (more.fence_seen ?? null) as Fence | null;
  return f.ledger.boots.beat({ ...worker, counter, held: held as never, fence_seen, engine_healthy: true });
}

describe("lease", () => {
  it("lets a boot act up to the last millisecond of its lease and not one longer (L3)", async () => {
    const grant = await f.running(worker);
    const more = await f.accept();
    const progress = { kind: "task_progress", progress: {} } as const;

    await f.advance(LEASE_MS - 1);
    expect(await f.ledger.tasks.append(grant, 2, [progress])).toEqual({ kind: "appended", sequence: 3 });
    await f.advance(1);
    const before = await f.digest();
    expect(await f.ledger.tasks.append(grant, 3, [progress])).toEqual({ kind: "fenced" });
    expect(await f.ledger.tasks.activate(grant, grant.sandbox_id)).toEqual({ kind: "fenced" });
    expect(await f.ledger.tasks.settle(grant, outcomeOf(grant))).toEqual({ kind: "fenced" });
    expect(await f.ledger.tasks.requeue(grant, "drain", false)).toEqual({ kind: "fenced" });
    expect(await f.admit(worker, more)).toEqual({ kind: "fenced" });
    expect(await f.digest()).toBe(before);
  });

  it("that ended and was not buried is simply renewed, and the run goes on", async () => {
    const grant = await f.running(worker);
    await f.advance(10 * LEASE_MS);

    expect(await beat(1, [grant.owner_token])).toMatchObject({ kind: "ok", lease_ms: LEASE_MS, missing: [] });

    expect(await f.ledger.tasks.settle(grant, outcomeOf(grant))).toMatchObject({ kind: "settled" });
    await f.ledger.tasks.release(grant);
  });

  it("that begins in the future, before the clock stepped back, counts as ended until the next beat (L3)", async () => {
    const grant = await f.running(worker);
    await f.advance(-60_000);

    expect(await f.ledger.tasks.settle(grant, outcomeOf(grant))).toEqual({ kind: "fenced" });
    await beat(1, [grant.owner_token]);
    expect(await f.ledger.tasks.settle(grant, outcomeOf(grant))).toMatchObject({ kind: "settled" });
    await f.ledger.tasks.release(grant);
  });

  it("is not renewed by a copy of an old beat (L3)", async () => {
    await beat(5);
    await f.advance(LEASE_MS - 1);

    expect(await beat(5)).toMatchObject({ kind: "ok" });
    expect(await beat(4)).toMatchObject({ kind: "ok" });
    await f.advance(1);

    expect(await f.admit(worker, await f.accept())).toEqual({ kind: "fenced" });
  });
});

describe("beat", () => {
  it("tells which held tokens are unknown, whose task is to be cancelled, and that the boot drains (T3)", async () => {
    const grant = await f.running(worker);
    const drawn = drawOwnerToken();
    await f.ledger.tasks.cancel(grant);
    await f.ledger.boots.drain(worker.boot_id);

    expect(await beat(1, [grant.owner_token, drawn])).toEqual({
      ...{ kind: "ok", lease_ms: LEASE_MS, draining: true, host_draining: false },
      ...{ cancelled: [grant.owner_token], unknown: [drawn], missing: [] },
    });
    await f.ledger.tasks.settle(grant, outcomeOf(grant, { status: "CANCELLED" }));
    expect(await beat(2, [grant.owner_token])).toMatchObject({ cancelled: [] });
    await f.ledger.tasks.release(grant);
  });

  it("names a token as missing after two beats without it, and a copy of a beat counts once (C2)", async () => {
    const grant = await f.running(worker);

    expect(await beat(1)).toMatchObject({ missing: [] });
    expect(await beat(1)).toMatchObject({ missing: [] });
    expect(await beat(2, [grant.owner_token])).toMatchObject({ missing: [] });
    expect(await beat(3)).toMatchObject({ missing: [] });
    expect(await beat(4)).toMatchObject({ missing: [grant.owner_token] });
    expect(await beat(4)).toMatchObject({ missing: [grant.owner_token] });
    expect(await f.ledger.tasks.release(grant)).toMatchObject({ kind: "released", requeued: { delivery: 2 } });
    expect(await beat(5)).toMatchObject({ missing: [] });
  });

  it("calls another boot's token unknown, and shows it nothing of that boot", async () => {
    const other = await f.register();
    const grant = await f.running(other);

    expect(await beat(1, [grant.owner_token])).toMatchObject({ unknown: [grant.owner_token], cancelled: [] });
    await f.ledger.tasks.release(grant);
  });

  it("answers UNKNOWN to a boot without record, and changes nothing (L4)", async () => {
    const before = await f.digest();

    const call = { boot_id: drawBootId(), counter: 1, held: [], fence_seen: null, engine_healthy: true };

    expect(await f.ledger.boots.beat(call)).toEqual({ kind: "unknown" });
    expect(await f.digest()).toBe(before);
  });

  it("reports the engine of the host within the same beat", async () => {
    await f.ledger.boots.beat({ ...worker, counter: 1, held: [], fence_seen: null, engine_healthy: false });

    expect((await f.ledger.hosts.list())[0]?.engine_healthy).toBe(false);
  });
});

describe("retire", () => {
  it("is refused while something is held, and final once nothing is (L4, Q1)", async () => {
    const grant = await f.running(worker);

    const held = { kind: "holds", tokens: [grant.owner_token] };
    expect(await f.ledger.boots.retire(worker.boot_id)).toEqual(held);
    await f.ledger.tasks.settle(grant, outcomeOf(grant));
    expect(await f.ledger.boots.retire(worker.boot_id)).toEqual(held);
    await f.ledger.tasks.release(grant);
    expect(await f.ledger.boots.retire(worker.boot_id)).toEqual({ kind: "retired" });
    expect(await f.ledger.boots.retire(worker.boot_id)).toEqual({ kind: "retired" });

    expect(await beat(9)).toEqual({ kind: "dead" });
    await f.ledger.boots.drain(worker.boot_id);
    expect(await beat(10)).toEqual({ kind: "dead" });
    await expect(f.register(worker)).rejects.toMatchObject({ code: "INTERNAL" });
    expect(await f.admit(worker, await f.accept())).toEqual({ kind: "fenced" });
    expect((await f.ledger.hosts.list())[0]?.boots).toMatchObject([{ state: "DEAD", lease_left_ms: 0, held: 0 }]);
    expect(await f.redis.pttl(`${f.root}:boot:${worker.boot_id}`)).toBeGreaterThan(86_000_000);
  });

  it("lets everything but standing keys go (Q1)", async () => {
    const grant = await f.running(worker);
    await f.ledger.tasks.settle(grant, outcomeOf(grant));
    await f.ledger.tasks.release(grant);
    await f.ledger.boots.retire(worker.boot_id);

    await f.expectQuiet();
  });
});

describe("register", () => {
  it("again with the same boot id changes nothing: it is a copy", async () => {
    await f.advance(5_000);
    const before = await f.digest();

    await f.register(worker);

    expect(await f.digest()).toBe(before);
  });
});

describe("fence", () => {
  it("rises with each grant though the clock stands still or steps back (L1)", async () => {
    const fences: bigint[] = [];
    for (const step of [0, 0, -600_000, 0]) {
      await f.advance(step);
      await beat(fences.length + 1);
      const grant = await f.running(worker);
      fences.push(BigInt(grant.fence));
      await f.ledger.tasks.release(grant);
    }

    expect(fences).toEqual([0n, 1n, 2n, 3n].map((more) => (fences[0] ?? 0n) + more));
    expect(`${fences[0]}`).toBe(`${f.now() + 600_000}000`);
  });

  it("rises above every floor that beats report, also where a float would round (L1)", async () => {
    await beat(1, [], { fence_seen: "99999999999999999" });
    await beat(2, [], { fence_seen: "7" });

    const one = await f.running(worker);
    const two = await f.running(worker);

    expect([one.fence, two.fence]).toEqual(["100000000000000000", "100000000000000001"]);
    await f.ledger.tasks.release(one);
    await f.ledger.tasks.release(two);
  });
});

describe("bell", () => {
  it("rings for a cancel and for a drain, and stops when asked to", async () => {
    let rings = 0;
    const stop = await f.ledger.boots.onBell(worker.boot_id, () => {
      rings += 1;
    });
    const grant = await f.running(worker);

    await f.ledger.tasks.cancel(grant);
    await waitFor(() => rings === 1, { bound_ms: 2_000, what: "the bell rings for a cancel" });
    await f.ledger.boots.drain(worker.boot_id);
    await waitFor(() => rings === 2, { bound_ms: 2_000, what: "the bell rings for a drain" });
    await stop();
    const channel = `${f.root}:boot:${worker.boot_id}:bell`;
    const heard = async () => (await f.redis.pubsub("NUMSUB", channel))[1] === 0;
    await waitFor(heard, { bound_ms: 2_000, what: "nobody is subscribed any more" });
    await f.ledger.tasks.release(grant);
  });
});

describe("fleet", () => {
  it("is recorded once, and grants are open at once only in a ledger that is born (L1)", async () => {
    const born = f.another({ prefix: `${f.ledger.prefix}_b` });
    const lost = f.another({ prefix: `${f.ledger.prefix}_l` });
    const wanted = drawFleetId();

    expect(await born.fleet(wanted, true)).toEqual({ fleet_id: wanted, schema: 3, grants_open_in_ms: 0 });
    expect(await born.fleet(drawFleetId())).toMatchObject({ fleet_id: wanted, grants_open_in_ms: 0 });
    expect(await lost.fleet(wanted)).toMatchObject({ fleet_id: wanted, grants_open_in_ms: LEASE_MS });
  });

  it("grants nothing for one lease on a new run id, to the millisecond, and says so in the status (L1)", async () => {
    await f.redis.hset(`${f.root}:fleet`, "run_id", "0".repeat(40));
    const delivery = await f.accept();

    expect(await f.admit(worker, delivery)).toEqual({ kind: "closed" });
    expect((await f.ledger.tasks.view(delivery))?.waiting?.reason).toBe("grants_closed");
    await beat(1);
    await f.advance(LEASE_MS - 1);
    expect(await f.admit(worker, delivery)).toEqual({ kind: "closed" });
    await beat(2);
    await f.advance(1);
    await f.ledger.tasks.release(await f.granted(worker, delivery));
  });

  it("grants nothing for one lease where a running fleet's ledger was emptied (L1)", async () => {
    await f.redis.del(...(await f.redis.keys(`${f.root}:*`)));

    expect(await beat(1)).toEqual({ kind: "unknown" });
    worker = await f.register();
    const delivery = await f.accept();

    expect(await f.admit(worker, delivery)).toEqual({ kind: "closed" });
  });

  it("closed cleanly grants at once on its next start; with a boot alive it is not closed (L4)", async () => {
    expect(await f.ledger.closeCleanly()).toBe(false);
    await f.ledger.boots.retire(worker.boot_id);
    expect(await f.ledger.closeCleanly()).toBe(true);
    await f.redis.hset(`${f.root}:fleet`, "run_id", "0".repeat(40));

    expect(await f.ledger.fleet(null)).toMatchObject({ grants_open_in_ms: 0 });
    await f.redis.hset(`${f.root}:fleet`, "run_id", "1".repeat(40));
    expect(await f.ledger.fleet(null)).toMatchObject({ grants_open_in_ms: LEASE_MS });
  });
});

describe("what a host tells of its images", () => {
  const digest = `sha256:${"a".repeat(64)}`;
  const holds = { programs: { sh: null }, imports: { numpy: "1.24.2" } };
  const hostOf = async (of: Worker) => (await f.ledger.hosts.list()).find(({ host_id }) => host_id === of.host_id);

  it("is shown with them; the next worker tells it anew, and one beside it adds what it alone knows", async () => {
    const refused_images = [{ image: "lab:none", reason: "it is not in this engine", expected: true }];
    const first = await f.register({ images: [{ image: "lab:np", digest, holds }], refused_images });
    expect(await hostOf(first)).toMatchObject({ images: [{ image: "lab:np", digest, holds }], refused_images });

    const other = { image: "lab:np", reason: "it lacks import numpy", expected: false };
    await f.register({ host_id: first.host_id, images: [{ image: "lab:bare", digest }], refused_images: [other] });
    expect(await hostOf(first)).toMatchObject({
      images: [
        { image: "lab:bare", digest },
        { image: "lab:np", digest, holds },
      ],
      refused_images,
    });

    await f.dies(first);
  });
});
