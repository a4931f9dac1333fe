/** Moves of those who hold, or once held, a grant. */
import { drawSandboxId } from "@holdfast/contract";
import type { Grant } from "@holdfast/ledger";
import { expect } from "vitest";
import { type LedgerFixture, outcomeOf } from "./ledger-fixture.js";
import type { Model, ModelGrant } from "./ledger-model.js";
import { type Move, move, pick, seen } from "./ledger-move.js";

/** Small numbers are grants that may act, then any still open, then any there ever was, as delayed copies are. */
function pickGrant(model: Model, at: number): ModelGrant | undefined {
  const latest = model.grants.toReversed();
  const acting = latest.filter((held) => model.holds(held));
  if (at < 6 && acting.length > 0) return pick(acting, at);
  return pick(at < 9 ? latest.filter((held) => held.open) : latest, at);
}

function byGrant(name: string, at: number, act: (model: Model, f: LedgerFixture, held: ModelGrant) => Promise<string>) {
  return move(`${name} by grant ${at}`, async (model, f) => {
    const held = pickGrant(model, at);
    if (held) seen(`${name} ${await act(model, f, held)}`);
    return held?.task;
  });
}

/** By the sandbox that admit named, or by one of the pool. A copy may name another: the first counts. */
export const activate = (at: number, warm: boolean): Move =>
  byGrant("activate", at, async (model, f, held) => {
    const { task } = held;
    const serves = warm ? drawSandboxId() : held.grant.sandbox_id;
    const expected = !model.holds(held) ? "fenced" : held.active ? "active" : task.cancelled ? "cancelled" : "active";
    const reply = await f.ledger.tasks.activate(held.grant, serves);
    expect(reply.kind).toBe(expected);
    if (expected === "active" && !held.active) {
      task.sequence += 1;
      task.started = task.sequence;
      held.active = true;
      held.warm = warm ? serves : null;
    }
    return reply.kind;
  });

export const append = (at: number, count: number, again: boolean): Move =>
  byGrant("append", at, async (model, f, held) => {
    const { task, grant } = held;
    const bodies = Array.from({ length: count }, () => ({ kind: "task_progress", progress: {} }) as const);
    const copy = again && task.sequence - count >= Math.max(task.started, grant.sequence);
    const expected = model.holds(held) ? "appended" : "fenced";
    const reply = await f.ledger.tasks.append(grant, copy ? task.sequence - count : task.sequence, bodies);
    if (expected === "appended" && !copy) task.sequence += count;
    expect(reply).toEqual(expected === "appended" ? { kind: expected, sequence: task.sequence } : { kind: expected });
    return `${reply.kind}${copy ? " again" : ""}`;
  });

export const settle = (at: number, status: "SUCCEEDED" | "FAILED" | "TIMEOUT" | "CANCELLED"): Move =>
  byGrant("settle", at, async (model, f, held) => {
    const { task } = held;
    const expected = task.ended_by === held ? "already" : model.holds(held) ? "settled" : "fenced";
    const reply = await f.ledger.tasks.settle(held.grant, outcomeOf(held.grant, { status }));
    expect(reply.kind).toBe(expected);
    if (expected === "settled") {
      model.end(task, status);
      task.ended_by = held;
    }
    return reply.kind;
  });

export const requeue = (at: number, counted: boolean): Move =>
  byGrant("requeue", at, async (model, f, held) => {
    const past = held.open ? held.gave_back : null;
    const expected = past ?? (model.holds(held) ? model.giveBack(held, counted) : "fenced");
    const reply = await f.ledger.tasks.requeue(held.grant, "drain", counted);
    expect(reply.kind).toBe(expected);
    if (expected !== "fenced") held.gave_back = expected;
    return reply.kind;
  });

export async function doRelease(model: Model, f: LedgerFixture, held: ModelGrant): Promise<string> {
  const { task } = held;
  const expected = held.open ? "released" : "already";
  const runs = held.open && task.status === "RUNNING" && task.current === held;
  const back = runs ? model.giveBack(held, held.active) : null;
  const reply = await f.ledger.tasks.release(held.grant);
  expect(reply.kind).toBe(expected);
  if (expected === "released")
    expect(reply.requeued?.delivery ?? null).toBe(back === "requeued" ? task.delivery : null);
  if (held.open) model.spend(held);
  return reply.kind;
}

export const release = (at: number): Move => byGrant("release", at, doRelease);

/** L2: a holder that is wrong in one field changes not one byte. */
export const wrong = (at: number, field: "boot_id" | "owner_token" | "generation" | "fence"): Move =>
  byGrant(`wrong ${field}`, at, async (model, f, held) => {
    const other = pick(
      model.grants.filter((each) => each.grant[field] !== held.grant[field]),
      at,
    );
    if (!other) return "none";
    const grant: Grant = { ...held.grant, [field]: other.grant[field] };
    const before = await f.digest();
    const log = { kind: "task_progress", progress: {} } as const;
    expect(await f.ledger.tasks.activate(grant, grant.sandbox_id)).toEqual({ kind: "fenced" });
    expect(await f.ledger.tasks.append(grant, held.task.sequence, [log])).toEqual({ kind: "fenced" });
    expect(await f.ledger.tasks.settle(grant, outcomeOf(held.grant))).toEqual({ kind: "fenced" });
    expect(await f.ledger.tasks.requeue(grant, "drain", true)).toEqual({ kind: "fenced" });
    if (field === "boot_id") expect((await f.ledger.tasks.release(grant)).kind).toBe("already");
    expect(await f.digest()).toBe(before);
    return "fenced";
  });
