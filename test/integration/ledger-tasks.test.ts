/** The way of a task through the ledger, one script after another. */
import { BOUNDS, drawBootId, drawOwnerToken, drawSandboxId } from "@holdfast/contract";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { DIGEST, IMAGE, type LedgerFixture, openFixture, outcomeOf, request, type Worker } from "./ledger-fixture.js";

const FROM_QUEUE = { queue: "tasks", job_id: null };
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

describe("accept", () => {
  it("takes a task once: the same body is the same task, another body a conflict (T2)", async () => {
    const wanted = request();

    const first = await f.ledger.tasks.accept(wanted, FROM_QUEUE);
    const again = await f.ledger.tasks.accept(wanted, { queue: "tasks", job_id: "17" });
    const other = await f.ledger.tasks.accept({ ...wanted, command: ["false"] }, FROM_QUEUE);

    const job_id = `default.${wanted.task_id}.1`;
    expect(first).toMatchObject({ kind: "accepted", delivery: { delivery: 1, queue: "tasks", job_id } });
    expect(again).toMatchObject({ kind: "existing", delivery: { delivery: 1, queue: "tasks", job_id } });
    expect(other).toEqual({ kind: "conflict" });
    expect(first).toMatchObject({ status: "PENDING" });
    if (first.kind !== "accepted") throw new Error("not accepted");
    const view = await f.ledger.tasks.view(first.delivery);
    expect(view).toMatchObject({ attempt: 0, events: 1, waiting: { reason: "queued" } });
    await f.finish(await f.granted(worker, first.delivery));
  });

  it("gives twenty producers at once one task (T2)", async () => {
    const wanted = request();

    const replies = await Promise.all(Array.from({ length: 20 }, () => f.ledger.tasks.accept(wanted, FROM_QUEUE)));

    expect(replies.filter(({ kind }) => kind === "accepted")).toHaveLength(1);
    expect(replies.filter(({ kind }) => kind === "existing")).toHaveLength(19);
    const [reply] = replies;
    if (reply && "delivery" in reply) await f.finish(await f.granted(worker, reply.delivery));
  });

  it("names the plain producer's own job as the first delivery's", async () => {
    const reply = await f.ledger.tasks.accept(request(), { queue: "tasks", job_id: "42" });

    expect(reply).toMatchObject({ kind: "accepted", delivery: { delivery: 1, job_id: "42" } });
    if (reply.kind === "accepted") await f.finish(await f.granted(worker, reply.delivery));
  });

  it.each([
    ["an image that no host offers", { image: "nobody:1" }, "IMAGE_NOT_ALLOWED"],
    ["a runtime that no host offers", { runtime: "runsc" }, "CAPABILITY_ABSENT"],
    ["resources larger than any host", { resources: { cpu: 4.001 } }, "RESOURCES_TOO_LARGE"],
    ["resources too small to start", { resources: { memory_mb: 1 } }, "RESOURCES_TOO_SMALL"],
  ])("refuses %s before anything is stored", async (_, more, code) => {
    const before = await f.digest();

    const reply = await f.ledger.tasks.accept(request(more), FROM_QUEUE);

    expect(reply).toMatchObject({ kind: "refused", error: { code, fault: "policy" } });
    expect(await f.digest()).toBe(before);
  });

  it("refuses a workspace whose waiting bodies would pass their bound, to the byte", async () => {
    const wanted = request({ workspace_id: "crowded" });
    const probe = await f.accept({ workspace_id: "crowded" });
    const key = `${f.root}:backlog:workspace:crowded`;
    const size = Number(await f.redis.hget(key, "pending_bytes"));
    const others = BOUNDS.pending_bodies_bytes_max - 2 * size + 1;
    await f.redis.hincrby(key, "pending_bytes", others);

    const over = await f.ledger.tasks.accept(wanted, FROM_QUEUE);
    await f.redis.hincrby(key, "pending_bytes", -1);
    const exact = await f.ledger.tasks.accept(wanted, FROM_QUEUE);
    await f.redis.hincrby(key, "pending_bytes", 1 - others);

    expect(over).toMatchObject({ kind: "refused", error: { code: "CAPACITY_EXHAUSTED", fault: "capacity" } });
    expect(exact).toMatchObject({ kind: "accepted" });
    await f.ledger.tasks.cancel(probe);
    if (exact.kind === "accepted") await f.ledger.tasks.cancel(exact.delivery);
  });

  it("keeps names of workspaces apart: another's task is unknown (W1)", async () => {
    const delivery = await f.accept({ workspace_id: "mine" });
    const foreign = { ...delivery, workspace_id: "theirs" as typeof delivery.workspace_id };

    expect(await f.ledger.tasks.view(foreign)).toBeNull();
    expect(await f.ledger.tasks.outcome(foreign)).toBeNull();
    expect(await f.ledger.tasks.cancel(foreign)).toEqual({ kind: "unknown" });
    expect(await f.ledger.tasks.follow(foreign, "tasks", "1")).toEqual({ kind: "unknown" });
    expect(await f.ledger.events.read(foreign, 0, 10)).toEqual([]);
    expect(await f.admit(worker, foreign)).toEqual({ kind: "stale" });
    await f.ledger.tasks.cancel(delivery);
  });

  it.each(["a.b", "a:b", "a b", "", "../x", "a{b}", "*", "x".repeat(65), "a\nb"])(
    "refuses the hostile id %j before it reaches Redis (W1)",
    async (id) => {
      const before = await f.digest();

      const refusal = { code: "INVALID_REQUEST", fault: "user" };
      await expect(f.ledger.tasks.view({ workspace_id: "w", task_id: id } as never)).rejects.toMatchObject(refusal);
      await expect(f.ledger.tasks.cancel({ workspace_id: id, task_id: "t" } as never)).rejects.toMatchObject(refusal);
      await expect(f.ledger.boots.retire(id as never)).rejects.toMatchObject(refusal);
      expect(await f.digest()).toBe(before);
    },
  );
});

describe("admit, activate, settle, release", () => {
  it("takes a task from queue to terminal record, and its capacity is free only after proof (C1, C2, T1)", async () => {
    const delivery = await f.accept({ command: ["echo", "hi"] });

    const reply = await f.admit(worker, delivery);
    if (reply.kind !== "granted") throw new Error(reply.kind);
    const { grant } = reply;
    expect(reply.request.command).toEqual(["echo", "hi"]);
    expect(grant).toMatchObject({ attempt: 1, generation: 1, delivery: 1, sequence: 1, ...worker });
    expect(await f.ledger.tasks.activate(grant, grant.sandbox_id)).toEqual({ kind: "active", sequence: 2 });
    expect(await f.ledger.tasks.view(delivery)).toMatchObject({ status: "RUNNING", host_id: worker.host_id });
    const outcome = outcomeOf(grant, {
      stdout: { text: "hi\n", encoding: "utf8", truncated: false, total_bytes: 3, sha256: "00" },
    });
    expect(await f.ledger.tasks.settle(grant, outcome)).toMatchObject({ kind: "settled" });

    const host = () => f.ledger.hosts.list().then((hosts) => hosts.find((each) => each.host_id === worker.host_id));
    expect((await host())?.reserved.slots).toBe(1);
    expect(await f.ledger.hosts.sandboxes()).toMatchObject([{ state: "draining", cleanup_pending: true }]);
    expect(await f.ledger.tasks.release(grant)).toEqual({ kind: "released", promotions: [], requeued: null });
    expect((await host())?.reserved).toEqual({ slots: 0, cpu_milli: 0, memory_mb: 0, pids: 0 });
    expect(await f.ledger.tasks.outcome(delivery)).toEqual(outcome);
    const view = await f.ledger.tasks.view(delivery);
    expect(view?.outcome?.stdout).toMatchObject({ text: null, total_bytes: 3, sha256: "00" });
    expect((await f.ledger.events.read(delivery, 0, 10)).map(({ kind }) => kind)).toEqual([
      "task_accepted",
      "task_started",
      "task_finished",
    ]);
  });

  it("gives a later admit of the same boot and delivery the old grant, and every other the truth (L1, T1)", async () => {
    const delivery = await f.accept();
    const grant = await f.granted(worker, delivery);
    const other = await f.register();

    expect(await f.admit(worker, delivery)).toMatchObject({ kind: "granted", grant });
    expect(await f.admit(other, delivery)).toEqual({ kind: "busy" });
    expect(await f.admit(worker, { ...delivery, delivery: 2 })).toEqual({ kind: "stale" });
    await f.ledger.tasks.settle(grant, outcomeOf(grant));
    expect(await f.admit(other, delivery)).toMatchObject({ kind: "done", outcome: { status: "SUCCEEDED" } });
    await f.ledger.tasks.release(grant);
  });

  it("gives the task back as a new delivery; the next attempt is a new generation with a higher fence (L1, G1)", async () => {
    const grant = await f.running(worker);

    const reply = await f.ledger.tasks.requeue(grant, "drain", false);
    if (reply.kind !== "requeued") throw new Error(reply.kind);
    const next = await f.granted(worker, reply.delivery);

    expect(reply.delivery).toMatchObject({ delivery: 2, job_id: `default.${grant.task_id}.2` });
    expect(next).toMatchObject({ attempt: 2, generation: 2 });
    expect(BigInt(next.fence)).toBeGreaterThan(BigInt(grant.fence));
    expect(await f.ledger.tasks.append(grant, 2, [{ kind: "task_progress", progress: {} }])).toEqual({
      kind: "fenced",
    });
    expect(await f.ledger.tasks.settle(grant, outcomeOf(grant))).toEqual({ kind: "fenced" });
    await f.ledger.tasks.release(grant);
    await f.finish(next);
    expect((await f.ledger.tasks.view(grant))?.outcome?.attempt).toBe(2);
  });

  it("never lets a token stand for two admits, neither while it is held nor after it is spent (C2)", async () => {
    const [first, second] = [await f.accept(), await f.accept()];
    const call = { ...worker, sandbox_id: drawSandboxId(), owner_token: drawOwnerToken() };
    const reply = await f.ledger.tasks.admit({ ...first, ...call });
    if (reply.kind !== "granted") throw new Error(reply.kind);

    expect(await f.ledger.tasks.admit({ ...second, ...call })).toEqual({ kind: "stale" });
    await f.ledger.tasks.requeue(reply.grant, "drain", false);
    await f.ledger.tasks.release(reply.grant);
    const redelivered = await f.ledger.tasks.view(first);
    const copy = { ...first, ...call, delivery: redelivered?.delivery ?? 0 };
    expect(await f.ledger.tasks.admit(copy)).toEqual({ kind: "stale" });
    await f.ledger.tasks.cancel(first);
    await f.ledger.tasks.cancel(second);
  });

  it("grants nothing to a boot that is unknown, on another host, draining or past its lease (L3)", async () => {
    const delivery = await f.accept();
    const other = await f.register();

    expect(await f.admit({ ...worker, boot_id: drawBootId() }, delivery)).toEqual({ kind: "fenced" });
    expect(await f.admit({ ...worker, host_id: other.host_id }, delivery)).toEqual({ kind: "fenced" });
    await f.ledger.boots.drain(other.boot_id);
    expect(await f.admit(other, delivery)).toEqual({ kind: "draining", whose: "boot" });
    await f.ledger.tasks.cancel(delivery);
  });

  it("ends a task at admit that no host can serve any more, saying so (T1)", async () => {
    const delivery = await f.accept();
    await f.redis.hdel(`${f.root}:host:${worker.host_id}:images`, IMAGE);
    const others = (await f.ledger.hosts.list()).map(({ host_id }) => `${f.root}:host:${host_id}:images`);
    await f.redis.del(...others);

    const reply = await f.admit(worker, delivery);

    expect(reply).toMatchObject({
      kind: "done",
      outcome: { status: "FAILED", ran: false, error: { code: "IMAGE_NOT_ALLOWED", fault: "policy" } },
    });
    for (const key of others) await f.redis.hset(key, IMAGE, DIGEST);
  });
});

describe("the whole file", () => {
  it("leaves nothing behind but records that expire (Q1)", async () => {
    await f.expectQuiet();
  });
});
