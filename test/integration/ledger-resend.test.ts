/** Every script applied twice, as after a lost reply, and every write by a wrong holder: not one byte more (L2). */
import { drawBootId, drawOwnerToken, drawSandboxId, type Fence, type OwnerToken } from "@holdfast/contract";
import type { Grant } from "@holdfast/ledger";
import { describe, expect, it } from "vitest";
import { loadScripts } from "../../packages/ledger/src/script-loader.js";
import { LEASE_MS, type LedgerFixture, outcomeOf, request, useFreshLedger, type Worker } from "./ledger-fixture.js";

let f: LedgerFixture;
let worker: Worker;

useFreshLedger(async (fixture) => {
  f = fixture;
  worker = await f.register();
});

const log = { kind: "task_log", stream: "stdout", encoding: "utf8", data: "x", bytes: 1, dropped_bytes: 0 } as const;

/** Runs a call, then the same once more: the second changes nothing and is answered as the first was. */
async function twice<Value>(call: () => Promise<Value>): Promise<[Value, Value]> {
  const first = await call();
  const before = await f.digest();
  const second = await call();
  expect(await f.digest()).toBe(before);
  return [first, second];
}

describe("a call that is sent again", () => {
  it("accept", async () => {
    const wanted = request();
    const [first, second] = await twice(() => f.ledger.tasks.accept(wanted, { queue: "tasks", job_id: null }));

    expect(second).toEqual({ ...first, kind: "existing" });
  });

  it("admit that granted, and one that parked (C1, L1)", async () => {
    const call = async () => ({
      ...{ ...(await f.accept()), ...worker, sandbox_id: drawSandboxId(), owner_token: drawOwnerToken() },
    });
    for (const kind of ["granted", "granted", "parked"]) {
      const same = await call();
      const [first, second] = await twice(() => f.ledger.tasks.admit(same));
      expect(first.kind).toBe(kind);
      expect(second).toEqual(first);
    }
  });

  it("activate, also once the task was flagged in between (V1)", async () => {
    const grant = await f.granted(worker, await f.accept());
    const [first, second] = await twice(() => f.ledger.tasks.activate(grant, grant.sandbox_id));
    await f.ledger.tasks.cancel(grant);

    expect([first, second, await f.ledger.tasks.activate(grant, grant.sandbox_id)]).toEqual(
      Array.from({ length: 3 }, () => ({ kind: "active", sequence: 2 })),
    );
  });

  it("append, also after a later append (V1)", async () => {
    const grant = await f.running(worker);
    const [first, second] = await twice(() => f.ledger.tasks.append(grant, 2, [log, log]));
    await f.ledger.tasks.append(grant, 4, [log]);
    const before = await f.digest();

    expect([first, second]).toEqual(Array.from({ length: 2 }, () => ({ kind: "appended", sequence: 4 })));
    expect(await f.ledger.tasks.append(grant, 2, [log, log])).toEqual({ kind: "appended", sequence: 4 });
    expect(await f.digest()).toBe(before);
  });

  it("append of a holder that does not count task_started: nothing is lost and nothing is doubled (V1)", async () => {
    const grant = await f.running(worker);
    const [first] = await twice(() => f.ledger.tasks.append(grant, grant.sequence, [log]));

    expect(first).toEqual({ kind: "appended", sequence: 3 });
    expect(await f.ledger.events.read(grant, 0, 10)).toHaveLength(3);
  });

  it("append after Redis lost the tail it had answered: stored once where the stream now ends (V1)", async () => {
    const grant = await f.running(worker);
    const [first, second] = await twice(() => f.ledger.tasks.append(grant, 10, [log, log]));

    expect([first, second]).toEqual(Array.from({ length: 2 }, () => ({ kind: "appended", sequence: 4 })));
    expect(await f.ledger.tasks.append(grant, 4, [log])).toEqual({ kind: "appended", sequence: 5 });
    expect((await f.ledger.events.read(grant, 0, 10)).map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5]);
  });

  it("settle, which answers `already` with the same promotions (T1)", async () => {
    const grant = await f.running(worker);
    await f.ledger.tasks.follow(grant, "tasks", "9");
    const [first, second] = await twice(() => f.ledger.tasks.settle(grant, outcomeOf(grant)));

    expect(second).toEqual({ ...first, kind: "already" });
    expect(first).toMatchObject({ promotions: [{ job_id: "9" }] });
    await f.ledger.tasks.release(grant);
    expect(await f.ledger.tasks.settle(grant, outcomeOf(grant, { status: "FAILED" }))).toMatchObject({
      kind: "already",
    });
    expect((await f.ledger.tasks.outcome(grant))?.status).toBe("SUCCEEDED");
  });

  it("requeue, and one that settled (T1)", async () => {
    const [grant, last] = [await f.running(worker), await f.running(worker, { attempts_max: 1 })];
    const [first, second] = await twice(() => f.ledger.tasks.requeue(grant, "drain", false));
    const [ended, again] = await twice(() => f.ledger.tasks.requeue(last, "sandbox_lost", true));

    expect(first).toMatchObject({ kind: "requeued", delivery: { delivery: 2 } });
    expect(second).toEqual(first);
    expect(ended).toMatchObject({ kind: "settled", outcome: { error: { code: "ATTEMPTS_EXHAUSTED" } } });
    expect(again).toEqual(ended);
  });

  it("release, also one that requeued (C2)", async () => {
    const grant = await f.running(worker);
    const [first, second] = await twice(() => f.ledger.tasks.release(grant));

    expect(first).toMatchObject({ kind: "released", requeued: { delivery: 2 } });
    expect(second).toEqual({ ...first, kind: "already" });
  });

  it("redeliver: the same request is told its delivery again, another one that it came too late (T2)", async () => {
    const delivery = await f.accept();
    const script = loadScripts({ lease_ms: LEASE_MS }).get("task-redeliver");
    const call = (request_id: string) =>
      f.redis.eval(script?.text ?? "", 1, f.root, "default", delivery.task_id, 1, request_id, "delivery_gone");
    const [first, second] = await twice(() => call("req_a"));

    expect(first).toEqual(["redelivered", "2", "tasks", `default.${delivery.task_id}.2`]);
    expect(second).toEqual(first);
    expect(await call("req_b")).toEqual(["overtaken"]);
  });

  it("cancel, follow, drain, retire, beat and limits", async () => {
    const delivery = await f.accept();
    const grant = await f.running(worker);
    await twice(() => f.ledger.tasks.cancel(grant));
    await twice(() => f.ledger.tasks.follow(grant, "tasks", "1"));
    await twice(() => f.ledger.tasks.cancel(delivery));
    await twice(() => f.ledger.hosts.setLimits("workspace", "w", { slots: 1, cpu_milli: 5 }));
    const beat = { ...worker, counter: 3, held: [grant.owner_token], fence_seen: grant.fence, engine_healthy: true };
    await f.advance(100);
    await twice(() => f.ledger.boots.beat(beat));
    await twice(() => f.ledger.hosts.setDraining(worker.host_id, true));
    await twice(() => f.ledger.hosts.setDraining(worker.host_id, false));
    await twice(() => f.ledger.boots.drain(worker.boot_id));
    await f.ledger.tasks.release(grant);
    await twice(() => f.ledger.boots.retire(worker.boot_id));
  });
});

describe("a delayed copy of an old call", () => {
  it("of any write changes nothing once a later attempt was granted (L2, G1)", async () => {
    const old = await f.running(worker);
    const back = await f.ledger.tasks.requeue(old, "drain", false);
    if (back.kind !== "requeued") throw new Error(back.kind);
    await f.ledger.tasks.release(old);
    const current = await f.granted(worker, back.delivery);
    await f.ledger.tasks.activate(current, current.sandbox_id);
    const before = await f.digest();

    expect(await f.ledger.tasks.activate(old, old.sandbox_id)).toEqual({ kind: "fenced" });
    expect(await f.ledger.tasks.append(old, 4, [log])).toEqual({ kind: "fenced" });
    expect(await f.ledger.tasks.settle(old, outcomeOf(old))).toEqual({ kind: "fenced" });
    expect(await f.ledger.tasks.requeue(old, "drain", true)).toEqual({ kind: "fenced" });
    expect(await f.ledger.tasks.release(old)).toMatchObject({ kind: "already" });
    expect(await f.admit(worker, { ...back.delivery, delivery: 1 })).toEqual({ kind: "stale" });
    expect(await f.ledger.tasks.redeliver(back.delivery, "delivery_gone")).toBeNull();

    expect(await f.digest()).toBe(before);
  });
});

describe("a wrong holder", () => {
  const wrongs: [string, (grant: Grant) => Partial<Grant>][] = [
    ["another boot", () => ({ boot_id: drawBootId() })],
    ["another token", () => ({ owner_token: drawOwnerToken() })],
    ["another generation", (grant) => ({ generation: grant.generation + 1 })],
    ["a lower fence", (grant) => ({ fence: `${BigInt(grant.fence) - 1n}` as Fence })],
    ["a higher fence", (grant) => ({ fence: `${BigInt(grant.fence) + 1n}` as Fence })],
  ];

  it.each(wrongs)("with %s changes not one byte, running or ended (L2)", async (_, wrong) => {
    const grant = await f.running(worker);
    const other = { ...grant, ...wrong(grant) };

    async function expectRefused(): Promise<void> {
      const before = await f.digest();
      expect(await f.ledger.tasks.activate(other, other.sandbox_id)).toEqual({ kind: "fenced" });
      expect(await f.ledger.tasks.append(other, 2, [log])).toEqual({ kind: "fenced" });
      expect(await f.ledger.tasks.settle(other, outcomeOf(grant))).toEqual({ kind: "fenced" });
      expect(await f.ledger.tasks.requeue(other, "drain", true)).toEqual({ kind: "fenced" });
      expect(await f.digest()).toBe(before);
    }

    await expectRefused();
    await f.ledger.tasks.settle(grant, outcomeOf(grant));
    await expectRefused();
    await f.ledger.tasks.release(grant);
    await expectRefused();
  });

  it("whose other live boot took the task with its own token is answered busy and changes nothing (L2)", async () => {
    const delivery = await f.accept();
    const grant = await f.granted(worker, delivery);
    const other = await f.register();
    const before = await f.digest();

    const call = { ...delivery, ...other, sandbox_id: drawSandboxId(), owner_token: grant.owner_token as OwnerToken };
    expect((await f.ledger.tasks.admit(call)).kind).toBe("busy");
    expect(await f.digest()).toBe(before);
  });
});
