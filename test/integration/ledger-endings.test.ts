/** Every way a task ends without a settle, healing of deliveries, and retention (T1, T2, T3). */
import { outcomeSchema, type StreamOutput, TIMES } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { type LedgerFixture, outcomeOf, useFreshLedger, type Worker } from "./ledger-fixture.js";

let f: LedgerFixture;
let worker: Worker;

useFreshLedger(async (fixture) => {
  f = fixture;
  worker = await f.register();
});

describe("cancel", () => {
  it("ends a waiting task at once with a whole outcome, and a second cancel says the same (T1, T3)", async () => {
    const delivery = await f.accept();
    await f.advance(1_500);

    const first = await f.ledger.tasks.cancel(delivery);
    const second = await f.ledger.tasks.cancel(delivery);

    if (first.kind !== "cancelled" || second.kind !== "cancelled") throw new Error(first.kind);
    expect(outcomeSchema.strict().parse(first.outcome)).toEqual({
      ...{ workspace_id: "default", task_id: delivery.task_id, status: "CANCELLED", ran: false, warm: false },
      ...{ exit_code: null, signal: null, attempt: 0, host_id: null, image: "lab:bb", image_digest: null },
      ...{ generation: 0, state_lost: false, isolation: null, limits: null, tree_receipt: null },
      stdout: { text: null, encoding: "utf8", truncated: false, total_bytes: 0, sha256: null },
      stderr: { text: null, encoding: "utf8", truncated: false, total_bytes: 0, sha256: null },
      timing: { queued_ms: 1_500, setup_ms: null, run_ms: null, harvest_ms: null, total_ms: 1_500 },
      usage: { cpu_ms: null, memory_peak_bytes: null, killed_processes: null, kill_ms: null },
      cleanup_pending: false,
      error: expect.objectContaining({ code: "CANCELLED", fault: "user", retryable: false }),
    });
    expect(first.promotions).toMatchObject([{ job_id: delivery.job_id }]);
    expect(second.outcome).toEqual(first.outcome);
    expect((await f.ledger.tasks.outcome(delivery))?.stdout.text).toBe("");
    expect(await f.admit(worker, delivery)).toMatchObject({ kind: "done", outcome: first.outcome });
    await f.ledger.boots.retire(worker.boot_id);
    await f.expectQuiet();
  });

  it("takes a waiter out of its list and wakes the next head (T3)", async () => {
    const [one, two] = [await f.running(worker), await f.running(worker)];
    await f.advance(1);
    const old = await f.accept();
    await f.advance(1);
    const young = await f.accept();
    for (const each of [old, young]) expect(await f.admit(worker, each)).toMatchObject({ kind: "parked" });
    await f.ledger.tasks.settle(one, outcomeOf(one));
    await f.ledger.tasks.release(one);

    const reply = await f.ledger.tasks.cancel(old);

    expect(reply).toMatchObject({ promotions: [{ job_id: old.job_id }, { job_id: young.job_id }] });
    await f.ledger.tasks.release(await f.granted(worker, young));
    await f.ledger.tasks.settle(two, outcomeOf(two));
    await f.ledger.tasks.release(two);
  });

  it("flags a running task; a run that ends by itself first is a normal result (T3)", async () => {
    const grant = await f.running(worker);

    expect(await f.ledger.tasks.cancel(grant)).toEqual({ kind: "requested" });
    expect((await f.ledger.tasks.view(grant))?.cancel_requested).toBe(true);
    expect(await f.ledger.tasks.settle(grant, outcomeOf(grant))).toMatchObject({ kind: "settled" });
    expect(await f.ledger.tasks.cancel(grant)).toMatchObject({ kind: "finished", outcome: { status: "SUCCEEDED" } });
    await f.ledger.tasks.release(grant);
  });

  it("reaches a grant before any user code may start (T3)", async () => {
    const grant = await f.granted(worker, await f.accept());
    await f.ledger.tasks.cancel(grant);

    expect(await f.ledger.tasks.activate(grant, grant.sandbox_id)).toEqual({ kind: "cancelled" });
    const reply = await f.ledger.tasks.requeue(grant, "cancelled", false);
    expect(reply).toMatchObject({ kind: "settled", outcome: { status: "CANCELLED", ran: false, attempt: 1 } });
    await f.ledger.tasks.release(grant);
  });

  it("ends a flagged task that is released while it runs, and one that is requeued (T3)", async () => {
    const [one, two] = [await f.running(worker), await f.running(worker)];
    await f.ledger.tasks.cancel(one);
    await f.ledger.tasks.cancel(two);

    expect(await f.ledger.tasks.release(one)).toMatchObject({ kind: "released", requeued: null });
    const reply = await f.ledger.tasks.requeue(two, "drain", false);

    expect(reply).toMatchObject({
      kind: "settled",
      outcome: { status: "CANCELLED", ran: true, cleanup_pending: true },
    });
    expect((await f.ledger.tasks.view(one))?.outcome).toMatchObject({ status: "CANCELLED", ran: true });
    await f.ledger.tasks.release(two);
  });
});

describe("queue time-out", () => {
  it("ends a waiting task at exactly its limit, not a millisecond before (T1)", async () => {
    const delivery = await f.accept({ queue_timeout_seconds: 5 });

    await f.advance(4_999);
    expect(await f.ledger.tasks.expireQueued(10)).toEqual({ ended: [], promotions: [] });
    await f.advance(1);
    expect(await f.ledger.tasks.expireQueued(10)).toMatchObject({
      ended: [{ task_id: delivery.task_id }],
      promotions: [{ job_id: delivery.job_id }],
    });

    expect(outcomeSchema.strict().parse(await f.ledger.tasks.outcome(delivery))).toMatchObject({
      ...{ status: "FAILED", ran: false, attempt: 0 },
      error: { code: "QUEUE_TIMEOUT", fault: "capacity", retryable: true },
    });
  });

  it("is found by admit as well, and never ends a task that runs (T1)", async () => {
    const late = await f.accept({ queue_timeout_seconds: 5 });
    const grant = await f.running(worker, { queue_timeout_seconds: 5 });
    await f.advance(5_000);

    expect(await f.admit(worker, late)).toMatchObject({ kind: "done", outcome: { error: { code: "QUEUE_TIMEOUT" } } });
    expect((await f.ledger.tasks.expireQueued(10)).ended).toEqual([]);
    await f.ledger.tasks.settle(grant, outcomeOf(grant));
    await f.ledger.tasks.release(grant);
  });

  it("begins anew when an attempt was given back (T2)", async () => {
    const grant = await f.running(worker, { queue_timeout_seconds: 5 });
    await f.advance(4_000);
    await f.ledger.tasks.requeue(grant, "drain", false);
    await f.ledger.tasks.release(grant);

    await f.advance(4_999);
    expect((await f.ledger.tasks.expireQueued(10)).ended).toEqual([]);
    await f.advance(1);
    expect((await f.ledger.tasks.expireQueued(10)).ended).toHaveLength(1);
    expect(await f.ledger.tasks.outcome(grant)).toMatchObject({ ran: true, attempt: 1 });
  });

  it("ends no more than asked for at once", async () => {
    for (let n = 0; n < 5; n += 1) await f.accept({ queue_timeout_seconds: 1 });
    await f.advance(1_000);

    expect((await f.ledger.tasks.expireQueued(3)).ended).toHaveLength(3);
    expect((await f.ledger.tasks.expireQueued(3)).ended).toHaveLength(2);
  });

  it("names whom they wake once, however many end together", async () => {
    const grants = [await f.running(worker), await f.running(worker)];
    const waits = await f.accept();
    expect(await f.admit(worker, waits)).toMatchObject({ kind: "parked" });
    for (let n = 0; n < 3; n += 1) await f.accept({ queue_timeout_seconds: 1 });
    for (const grant of grants) await f.finish(grant);
    await f.advance(1_000);

    const { ended, promotions } = await f.ledger.tasks.expireQueued(10);

    expect(ended).toHaveLength(3);
    expect(promotions.filter(({ task_id }) => task_id === waits.task_id)).toHaveLength(1);
  });
});

describe("healing", () => {
  it("looks at what was accepted and not enqueued after two seconds, then less often (T2)", async () => {
    const delivery = await f.accept();

    await f.advance(1_999);
    expect(await f.ledger.tasks.dueForHealing(10)).toEqual([]);
    await f.advance(1);
    expect(await f.ledger.tasks.dueForHealing(10)).toEqual([delivery]);
    expect(await f.ledger.tasks.dueForHealing(10)).toEqual([]);
    await f.advance(5_000);
    expect(await f.ledger.tasks.dueForHealing(10)).toEqual([delivery]);
  });

  it("counts one new delivery for what was seen, however many healers saw it (T2)", async () => {
    const delivery = await f.accept();

    const replies = await Promise.all([1, 2, 3].map(() => f.ledger.tasks.redeliver(delivery, "delivery_gone")));

    const next = { ...delivery, delivery: 2, job_id: `default.${delivery.task_id}.2` };
    expect(replies.filter((reply) => reply !== null)).toEqual([next]);
    expect(await f.admit(worker, delivery)).toEqual({ kind: "stale" });
    await f.ledger.tasks.release(await f.granted(worker, next));
  });

  it("leaves a running or ended task alone (T1)", async () => {
    const delivery = await f.accept();
    const grant = await f.granted(worker, delivery);
    await f.advance(60_000);

    expect(await f.ledger.tasks.redeliver(delivery, "delivery_gone")).toBeNull();
    expect(await f.ledger.tasks.dueForHealing(10)).toEqual([]);
    await f.ledger.tasks.release(grant);
    await f.ledger.tasks.cancel(delivery);
    expect(await f.ledger.tasks.redeliver({ ...delivery, delivery: 2 }, "delivery_gone")).toBeNull();
  });
});

describe("followers", () => {
  it("wait for the end, are woken by it, and are told at once when they come late", async () => {
    const grant = await f.running(worker);

    expect(await f.ledger.tasks.follow(grant, "tasks", "a:1")).toEqual({ kind: "waiting" });
    expect(await f.ledger.tasks.follow(grant, "tasks", "a:1")).toEqual({ kind: "waiting" });
    const settled = await f.ledger.tasks.settle(grant, outcomeOf(grant));

    expect(settled).toMatchObject({ promotions: [{ queue: "tasks", job_id: "a:1" }] });
    expect(await f.ledger.tasks.follow(grant, "tasks", "b")).toMatchObject({ kind: "done" });
    await expect(f.ledger.tasks.follow(grant, "tasks", "b\nc")).rejects.toMatchObject({ code: "INVALID_REQUEST" });
    await f.ledger.tasks.release(grant);
  });
});

describe("retention", () => {
  const text = (value: string): StreamOutput => ({
    ...{ text: value, encoding: "utf8", truncated: false, total_bytes: value.length, sha256: "ab" },
  });

  it("keeps the record 24 h, output text and log bodies 1 h, and the body not at all (Q1)", async () => {
    const grant = await f.running(worker);
    const log = {
      kind: "task_log",
      stream: "stdout",
      encoding: "utf8",
      data: "x",
      bytes: 1,
      dropped_bytes: 0,
    } as const;
    await f.ledger.tasks.append(grant, 2, [log]);
    await f.ledger.tasks.settle(grant, outcomeOf(grant, { stdout: text("x"), stderr: text("y") }));
    const task = `${f.root}:task:default:${grant.task_id}`;

    expect(await f.redis.pttl(task)).toBe(-1);
    await f.ledger.tasks.release(grant);

    const about = async (key: string) => Math.round((await f.redis.pttl(key)) / 60_000) * 60_000;
    expect(await about(task)).toBe(TIMES.record_retention_ms);
    expect(await about(`${task}:events`)).toBe(TIMES.record_retention_ms);
    expect(await about(`${f.root}:index:default`)).toBe(TIMES.record_retention_ms);
    expect(await about(`${task}:logs`)).toBe(TIMES.output_retention_ms);
    expect(await about(`${task}:output`)).toBe(TIMES.output_retention_ms);
    expect(await f.redis.exists(`${task}:body`)).toBe(0);
    expect(await f.redis.exists(`${f.root}:workspace:default`)).toBe(0);
  });

  it("gives size and digest without text once the text is gone, the same record to every reader (T1)", async () => {
    const grant = await f.running(worker);
    await f.ledger.tasks.settle(grant, outcomeOf(grant, { stdout: text("hello") }));
    await f.ledger.tasks.release(grant);
    expect((await f.ledger.tasks.outcome(grant))?.stdout).toEqual(text("hello"));

    await f.redis.del(`${f.root}:task:default:${grant.task_id}:output`);

    expect((await f.ledger.tasks.outcome(grant))?.stdout).toEqual({ ...text("hello"), text: null });
    expect((await f.ledger.tasks.outcome(grant))?.stderr.text).toBe("");
  });

  it("keeps the index while a task of the workspace lives, and drops expired records from it", async () => {
    const [one, two] = [await f.accept(), await f.accept()];
    await f.ledger.tasks.cancel(one);
    expect(await f.redis.pttl(`${f.root}:index:default`)).toBe(-1);
    await f.ledger.tasks.cancel(two);
    expect(await f.redis.pttl(`${f.root}:index:default`)).toBeGreaterThan(0);
    await f.redis.del(`${f.root}:task:default:${one.task_id}`);

    await f.advance(1);
    const three = await f.accept();

    expect(await f.redis.pttl(`${f.root}:index:default`)).toBe(-1);
    const ids = async (workspace_id: string, limit: number) =>
      (await f.ledger.tasks.list({ workspace_id, cursor: null, limit })).tasks.map(({ task_id }) => task_id);
    expect(await ids("default", 10)).toEqual([three.task_id, two.task_id]);
    expect(await f.redis.zscore(`${f.root}:index:default`, one.task_id)).toBeNull();
    expect(await ids("default", 1)).toHaveLength(1);
    expect(await ids("other", 10)).toEqual([]);
  });
});
