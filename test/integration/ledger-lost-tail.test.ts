/** After Redis may have lost its tail, grants stay closed: for one lease, and at a host while it shows strangers. */
import { drawBootId, drawSandboxId, type Fence, type SandboxId, type StrangeSandbox } from "@holdfast/contract";
import { bootQueue } from "@holdfast/ledger";
import { describe, expect, it } from "vitest";
import { LEASE_MS, type LedgerFixture, outcomeOf, useFreshLedger, type Worker } from "./ledger-fixture.js";

let f: LedgerFixture;
let worker: Worker;
let counter = 0;

useFreshLedger(async (fixture) => {
  f = fixture;
  worker = await f.register();
});

type Strange = SandboxId | StrangeSandbox;

async function beat(of: Worker, strange?: readonly Strange[], fence_seen: Fence | null = null) {
  counter += 1;
  const seen = strange?.map((one) => (typeof one === "string" ? { sandbox_id: one, pool_of: null } : one));
  const looked = seen === undefined ? {} : { strange_sandboxes: seen };
  return f.ledger.boots.beat({ ...of, counter, held: [], fence_seen, engine_healthy: true, ...looked });
}

/** As if all so far had happened in an earlier run of Redis. */
async function newRun(): Promise<void> {
  const earlier = "0".repeat(40);
  await f.redis.hset(`${f.root}:fleet`, "run_id", earlier);
  for (const { boot_id } of await f.ledger.boots.look()) {
    const boot = `${f.root}:boot:${boot_id}`;
    if (await f.redis.hexists(boot, "looked_in_run")) await f.redis.hset(boot, "looked_in_run", earlier);
  }
}

/** A new run of Redis, and the lease for which nothing is granted, with every boot beating. */
async function leaseAfterNewRun(strange?: readonly Strange[]): Promise<void> {
  await newRun();
  await beat(worker, strange);
  await f.advance(LEASE_MS / 2);
  await beat(worker, strange);
  await f.advance(LEASE_MS / 2);
}

describe("a new run of Redis", () => {
  it("is met by the first beat, and nothing is granted for one lease from there (L1)", async () => {
    const delivery = await f.accept();
    await newRun();
    await beat(worker);

    await f.advance(LEASE_MS - 1);
    expect(await f.admit(worker, delivery)).toEqual({ kind: "closed" });
    await beat(worker);
    await f.advance(1);
    expect((await f.admit(worker, delivery)).kind).toBe("granted");
  });

  it("keeps a host closed while its engine shows a live sandbox that the ledger does not know (L1, C1)", async () => {
    const strange = drawSandboxId();
    const delivery = await f.accept();
    await leaseAfterNewRun([strange]);
    await beat(worker, [strange]);

    expect(await f.admit(worker, delivery)).toEqual({ kind: "closed" });
    expect((await f.ledger.tasks.view(delivery))?.waiting?.reason).toBe("grants_closed");
    await f.advance(1_000_000);
    await beat(worker, [strange]);
    expect(await f.admit(worker, delivery)).toEqual({ kind: "closed" });
    await beat(worker, []);

    expect((await f.admit(worker, delivery)).kind).toBe("granted");
  });

  it("keeps a host closed whose worker has not been heard, or not looked, since (L1, C1)", async () => {
    await beat(worker, []);
    await newRun();
    await f.admit(worker, await f.accept());
    await f.advance(LEASE_MS);
    await beat(worker);
    expect(await f.admit(worker, await f.accept())).toEqual({ kind: "closed" });
    await beat(worker, []);
    expect((await f.admit(worker, await f.accept())).kind).toBe("granted");

    const fresh = await f.register();
    expect(await f.admit(fresh, await f.accept())).toEqual({ kind: "closed" });
    await beat(fresh, []);
    expect((await f.admit(fresh, await f.accept())).kind).toBe("granted");
  });

  it("closes no host for another's strangers, and sends nothing to a closed one", async () => {
    const other = await f.register();
    const strange = drawSandboxId();
    await newRun();
    await beat(worker, []);
    await f.advance(LEASE_MS);
    await beat(worker, []);
    await beat(other, [strange]);
    await f.running(worker);
    await f.running(worker);

    const waits = await f.accept();
    expect(await f.admit(other, waits)).toEqual({ kind: "closed" });
    expect(await f.admit(worker, waits)).toMatchObject({ kind: "parked", scope: "host" });
    expect(await f.ledger.tasks.headsWithRoom()).toEqual([]);
    await beat(other, []);
    expect(await f.ledger.tasks.headsWithRoom()).toHaveLength(1);
    const queue = bootQueue(other.boot_id);
    expect(await f.admit(worker, waits)).toMatchObject({ kind: "elsewhere", delivery: { queue } });
  });

  it("does not take for a stranger what another boot of the host holds, nor what was gone by the next look", async () => {
    const sibling = await f.register({ host_id: worker.host_id, limits: null });
    await leaseAfterNewRun([]);
    await beat(sibling, []);
    await beat(worker, []);
    const grant = await f.running(sibling);

    await beat(worker, [grant.sandbox_id]);
    await beat(worker, [grant.sandbox_id]);
    expect((await f.admit(worker, await f.accept())).kind).toBe("granted");
    await f.ledger.tasks.settle(grant, outcomeOf(grant));
    await f.ledger.tasks.release(grant);
    await beat(worker, [grant.sandbox_id]);
    expect((await f.admit(worker, await f.accept())).kind).toBe("granted");
    const next = await f.accept();
    await beat(worker, [grant.sandbox_id]);
    expect(await f.admit(worker, next)).toEqual({ kind: "closed" });
  });

  it("does not take for a stranger what a pool made whose boot answers for it itself, and no other's (C1)", async () => {
    const sibling = await f.register({ host_id: worker.host_id, limits: null });
    const made = (pool_of: Worker["boot_id"]) => [{ sandbox_id: drawSandboxId(), pool_of }];
    const members = made(sibling.boot_id);
    await leaseAfterNewRun(members);
    await beat(sibling, []);
    await beat(worker, members);
    expect((await f.admit(worker, await f.accept())).kind).toBe("granted");

    const unknown = made(drawBootId());
    await beat(worker, unknown);
    await beat(worker, unknown);
    expect(await f.admit(worker, await f.accept())).toEqual({ kind: "closed" });
    await f.ledger.boots.drain(sibling.boot_id);
    await beat(worker, members);
    expect((await f.admit(worker, await f.accept())).kind).toBe("granted");

    await f.ledger.boots.retire(sibling.boot_id);
    await beat(worker, members);
    await beat(worker, members);
    expect(await f.admit(worker, await f.accept())).toEqual({ kind: "closed" });
  });

  it("after a clean close closes no host (L4)", async () => {
    await f.ledger.boots.retire(worker.boot_id);
    expect(await f.ledger.closeCleanly()).toBe(true);
    await newRun();
    await f.ledger.fleet(null);
    worker = await f.register();
    await beat(worker, [drawSandboxId()]);

    expect((await f.admit(worker, await f.accept())).kind).toBe("granted");
  });
});

describe("strangers", () => {
  it("close nothing while Redis never lost a tail", async () => {
    await beat(worker, [drawSandboxId()]);
    await beat(worker, [drawSandboxId()]);

    expect((await f.admit(worker, await f.accept())).kind).toBe("granted");
  });
});

describe("the floor of fences", () => {
  it("rises by the beats of those the ledger forgot or buried as well (L1)", async () => {
    const other = await f.register();
    await f.advance(LEASE_MS);
    await f.ledger.boots.bury(other.boot_id, -1);
    const floor = "99999999999999998" as Fence;
    expect(await beat(other, [], floor)).toEqual({ kind: "dead" });
    await f.redis.del(`${f.root}:boot:${worker.boot_id}`);
    expect(await beat(worker, [], "99999999999999999" as Fence)).toEqual({ kind: "unknown" });

    const fresh = await f.register();
    expect((await f.running(fresh)).fence).toBe("100000000000000000");
  });
});
