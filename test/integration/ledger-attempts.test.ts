/** Attempts that are given back, and capacity that is given back (C2, G1). */
import { drawBootId, type OwnerToken, outcomeSchema } from "@holdfast/contract";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type LedgerFixture, openFixture, outcomeOf, request, type Worker } from "./ledger-fixture.js";

let f: LedgerFixture;
let worker: Worker;

beforeAll(async () => {
  f = await openFixture();
});
beforeEach(async () => {
  worker = await f.register();
});
afterEach(async () => {
  await f.expectCounted();
});
afterAll(async () => {
  await f.close();
});

describe("requeue", () => {
  it("counts workspace and fleet once for a re-run beside a draining sandbox (C1)", async () => {
    const grant = await f.running(worker, { workspace_id: "again" });
    const reply = await f.ledger.tasks.requeue(grant, "drain", false);
    if (reply.kind !== "requeued") throw new Error(reply.kind);
    const next = await f.granted(worker, reply.delivery);

    expect(await f.redis.hget(`${f.root}:sum:workspace:again`, "slots")).toBe("1");
    expect(await f.redis.hget(`${f.root}:sum:host:${worker.host_id}`, "slots")).toBe("2");
    await f.expectCounted();
    await f.ledger.tasks.release(grant);
    expect(await f.redis.hget(`${f.root}:sum:workspace:again`, "slots")).toBe("1");
    await f.finish(next);
    expect(await f.redis.exists(`${f.root}:sum:workspace:again`)).toBe(0);
  });

  it("ends a task whose counted attempts are used up, with a whole outcome (T1)", async () => {
    let delivery = await f.accept({ attempts_max: 2 });
    for (const last of [false, true]) {
      const grant = await f.granted(worker, delivery);
      await f.ledger.tasks.activate(grant, grant.sandbox_id);
      const reply = await f.ledger.tasks.requeue(grant, "sandbox_lost", true);
      await f.ledger.tasks.release(grant);
      expect(reply.kind).toBe(last ? "settled" : "requeued");
      if (reply.kind === "requeued") delivery = reply.delivery;
    }

    const outcome = await f.ledger.tasks.outcome(delivery);
    expect(outcomeSchema.parse(outcome)).toMatchObject({
      status: "FAILED",
      ran: true,
      attempt: 2,
      error: { code: "ATTEMPTS_EXHAUSTED", fault: "platform", evidence: { last_reason: "sandbox_lost" } },
    });
  });

  it("ends hand-backs at ten as ENGINE_UNAVAILABLE, without counting one as an attempt (T1)", async () => {
    let delivery = await f.accept({ attempts_max: 1 });
    for (let n = 1; n <= 10; n += 1) {
      const grant = await f.granted(worker, delivery);
      const reply = await f.ledger.tasks.requeue(grant, "engine_unavailable", false);
      await f.ledger.tasks.release(grant);
      expect(reply.kind).toBe(n < 10 ? "requeued" : "settled");
      if (reply.kind === "requeued") delivery = reply.delivery;
    }

    expect(await f.ledger.tasks.outcome(delivery)).toMatchObject({
      ran: false,
      attempt: 10,
      error: { code: "ENGINE_UNAVAILABLE" },
    });
  });

  it("makes a plain producer's job a follower of its task's next delivery", async () => {
    const reply = await f.ledger.tasks.accept(request(), { queue: "tasks", job_id: "77" });
    if (reply.kind !== "accepted") throw new Error(reply.kind);
    const grant = await f.granted(worker, reply.delivery);
    const back = await f.ledger.tasks.requeue(grant, "drain", false);
    if (back.kind !== "requeued") throw new Error(back.kind);
    await f.ledger.tasks.release(grant);
    const next = await f.granted(worker, back.delivery);

    const settled = await f.ledger.tasks.settle(next, outcomeOf(next));

    expect(settled).toMatchObject({ promotions: [{ queue: "tasks", job_id: "77" }] });
    await f.ledger.tasks.release(next);
  });
});

describe("release", () => {
  it("requeues in the same step a task that still runs under the token (C2, T2)", async () => {
    const grant = await f.running(worker);

    const reply = await f.ledger.tasks.release(grant);

    expect(reply).toMatchObject({ kind: "released", requeued: { delivery: 2 } });
    expect(await f.ledger.tasks.view(grant)).toMatchObject({ status: "PENDING", waiting: { reason: "requeued" } });
    expect(await f.ledger.tasks.release(grant)).toMatchObject({ kind: "already", requeued: { delivery: 2 } });
    await f.ledger.tasks.cancel(grant);
  });

  it("frees nothing for a wrong token, boot or task (C2)", async () => {
    const grant = await f.running(worker);
    const other = await f.running(worker);
    const before = await f.digest();

    const wrong = [
      { ...grant, owner_token: "own_nobody" as OwnerToken },
      { ...grant, owner_token: other.owner_token },
      { ...grant, boot_id: drawBootId() },
    ];
    for (const call of wrong) expect(await f.ledger.tasks.release(call)).toMatchObject({ kind: "already" });

    expect(await f.digest()).toBe(before);
    await f.finish(grant);
    await f.finish(other);
  });
});

describe("the whole file", () => {
  it("leaves nothing behind but records that expire (Q1)", async () => {
    await f.expectQuiet();
  });
});
