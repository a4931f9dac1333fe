/** Moves of boots, and of those who find one dead: beats, burial, recovery, freeing, rerouting. */
import type { Fence, SandboxId, StrangeSandbox } from "@holdfast/contract";
import type { FreeRight } from "@holdfast/ledger";
import { expect } from "vitest";
import { LEASE_MS, type LedgerFixture } from "./ledger-fixture.js";
import { holdsSlice, type Model, type ModelBoot, type ModelGrant, type ModelTask, sandboxOf } from "./ledger-model.js";
import { type Move, move, pick, pickBoot, pickDead, seen, tick } from "./ledger-move.js";

interface BeatOptions {
  readonly healthy: boolean;
  readonly holds: boolean;
  readonly copy: boolean;
  readonly looks: boolean;
}

const USUAL: BeatOptions = { healthy: true, holds: true, copy: false, looks: true };

/** A boot that says of nothing that it holds it, and has not looked, says in the same breath that its checks fail. */
const isFit = ({ holds, looks }: BeatOptions): boolean => holds || looks;

export function beat(at: number, options: BeatOptions): Move {
  return move(`beat of boot ${at} ${JSON.stringify(options)}`, async (model, f) => {
    const boot = pickBoot(model, at);
    if (boot) await doBeat(model, f, boot, options);
    return undefined;
  });
}

/** What a healthy fleet does every two seconds; one of the dead may still try. */
export const beatAll = (): Move =>
  move("beat of all boots", async (model, f) => {
    const dead = model.boots.find(({ state }) => state === "DEAD");
    for (const boot of model.boots) {
      if (boot.state !== "DEAD" || boot === dead) await doBeat(model, f, boot, USUAL);
    }
    return undefined;
  });

/** What the boot's engine shows alive and it does not hold: sandboxes of the host's other boots, and strays. */
function strangeTo(model: Model, boot: ModelBoot): StrangeSandbox[] {
  const others = model.grants.filter((held) => held.open && held.boot !== boot && held.boot.host === boot.host);
  const strays = model.world.strays.filter(
    ({ host_id, boot_id }) => host_id === boot.host.host_id && boot_id !== boot.worker.boot_id,
  );
  return [...others.map(sandboxOf), ...strays.map(({ sandbox_id, pool_of }) => ({ sandbox_id, pool_of }))];
}

async function doBeat(model: Model, f: LedgerFixture, boot: ModelBoot, options: BeatOptions): Promise<void> {
  const counter = boot.counter + (options.copy ? 0 : 1);
  const own = model.grants.filter((held) => held.open && held.boot === boot);
  const held = options.holds ? own.map((each) => each.grant.owner_token) : [];
  const heard = model.world.heard.get(boot.worker.boot_id);
  const strange_sandboxes = options.looks ? strangeTo(model, boot) : undefined;
  const reply = await f.ledger.boots.beat({
    ...{
      ...boot.worker,
      counter,
      held,
      engine_healthy: options.healthy,
      failed_checks: isFit(options) ? [] : ["memory"],
    },
    fence_seen: heard === undefined ? null : (`${heard}` as Fence),
    ...(strange_sandboxes === undefined ? {} : { strange_sandboxes }),
  });
  if (heard !== undefined && heard > model.fence) model.fence = heard;
  model.grantsOpen();
  seen(`beat ${reply.kind}`);
  expect(reply.kind).toBe(boot.state === "DEAD" ? "dead" : "ok");
  boot.silent = false;
  if (reply.kind !== "ok") return;
  expect([reply.draining, reply.host_draining]).toEqual([boot.state === "DRAINING", boot.host.draining]);
  const fresh = counter > boot.counter;
  const missing: string[] = [];
  for (const { grant } of own) {
    const count = options.holds ? 0 : (boot.missed.get(grant.owner_token) ?? 0) + (fresh ? 1 : 0);
    boot.missed.set(grant.owner_token, count);
    if (count >= 2) missing.push(grant.owner_token);
  }
  expect(reply.missing.toSorted()).toEqual(missing.toSorted());
  const flagged = own.filter((each) => each.task.cancelled && each.task.current === each);
  const running = flagged.filter(({ task }) => task.status === "RUNNING").map(({ grant }) => grant.owner_token);
  expect(reply.cancelled.toSorted()).toEqual(options.holds ? running.toSorted() : []);
  if (!fresh) return;
  boot.lease_ends_ms = model.now_ms + LEASE_MS;
  boot.host.healthy = options.healthy;
  boot.fit = isFit(options);
  boot.counter = counter;
  if (strange_sandboxes) noteLook(model, boot, strange_sandboxes);
}

/** What a pool made is vouched for by its boot, as long as that may act. */
function noteLook(model: Model, boot: ModelBoot, strange: readonly StrangeSandbox[]): void {
  const known = new Set(model.grants.filter((held) => held.open).map((held) => sandboxOf(held).sandbox_id));
  const vouches = model.boots.filter((each) => model.leaseStands(each)).map(({ worker }) => worker.boot_id);
  const unknown = strange
    .filter(({ sandbox_id, pool_of }) => !known.has(sandbox_id) && (pool_of === null || !vouches.includes(pool_of)))
    .map(({ sandbox_id }) => sandbox_id);
  const before = boot.look;
  const first = before?.run !== model.run;
  const strangers = unknown.filter((sandbox) => first || before?.unknown.includes(sandbox)).length;
  boot.look = { run: model.run, unknown, strangers };
}

export async function doLook(model: Model, f: LedgerFixture): Promise<void> {
  const sights = await f.ledger.boots.look();
  const expected = model.boots.map((boot) => ({
    ...{ ...boot.worker, state: boot.state, counter: boot.counter, lease_ended: !model.leaseStands(boot) },
    dead_ms: boot.state === "DEAD" ? model.ageOfDeath(boot) : null,
    reservations: model.grants.filter((held) => held.open && held.boot === boot).length,
    holds_slice: holdsSlice(boot),
  }));
  const byId = (left: { boot_id: string }, right: { boot_id: string }) => (left.boot_id < right.boot_id ? -1 : 1);
  expect(sights).toEqual(expected.toSorted(byId));
  const shown = (await f.ledger.hosts.sandboxes()).map(({ sandbox_id, assigned }) => [sandbox_id, assigned]);
  const open = model.grants.filter((held) => held.open);
  expect(new Map(shown as [SandboxId, boolean][])).toEqual(
    new Map(open.map((held) => [sandboxOf(held).sandbox_id, held.active])),
  );
}

export const look = (): Move =>
  move("look", async (model, f) => {
    await doLook(model, f);
    return undefined;
  });

/** By an observer whose last look is so many beats old. */
export async function doBury(model: Model, f: LedgerFixture, boot: ModelBoot, old: number): Promise<void> {
  const lives = model.leaseStands(boot) || old > 0;
  const expected = boot.state === "DEAD" ? "already" : lives ? "alive" : "buried";
  const reply = await f.ledger.boots.bury(boot.worker.boot_id, boot.counter - old);
  seen(`bury ${reply.kind}${boot.state !== "DEAD" && old === 0 && lives ? " by lease" : ""}`);
  expect(reply.kind).toBe(expected);
  if (expected === "buried") model.die(boot);
}

export function bury(at: number, old: number): Move {
  return move(`bury boot ${at} seen ${old} beats ago`, async (model, f) => {
    const alive = model.boots.filter((each) => each.state !== "DEAD").toReversed();
    const boot = pick(at < 8 && alive.length > 0 ? alive : model.boots, at);
    if (boot) await doBury(model, f, boot, old);
    return undefined;
  });
}

/** A boot that holds something falls silent to the end of its lease, while all others beat, and is buried. */
export function death(at: number): Move {
  return move(`death of boot ${at}`, async (model, f) => {
    const runs = model.boots.filter((boot) => model.grants.some((held) => held.boot === boot && model.holds(held)));
    const boot = pick(runs, at);
    if (!boot) return undefined;
    await tick(model, f, boot.lease_ends_ms - model.now_ms);
    for (const other of model.boots) if (other !== boot) await doBeat(model, f, other, USUAL);
    await doBury(model, f, boot, 0);
    return undefined;
  });
}

const named = ({ name }: ModelTask) => `${name.workspace_id}.${name.task_id}`;

export async function doRecover(model: Model, f: LedgerFixture, boot: ModelBoot, limit: number): Promise<ModelTask[]> {
  const mine = model.grants
    .filter((held) => held.boot === boot && held.task.status === "RUNNING" && held.task.current === held)
    .toSorted((left, right) => (left.grant.owner_token < right.grant.owner_token ? -1 : 1));
  const dead = boot.state === "DEAD";
  const taken = model.deadForGood(boot) ? mine.slice(0, limit) : [];
  const ends = taken.map((held) => ({ held, end: model.giveBack(held, true) }));
  const reply = await f.ledger.boots.recover(boot.worker.boot_id, limit);
  const of = (end: string) => ends.filter((each) => each.end === end).map(({ held }) => held.task);
  seen(`recover requeued ${Math.min(1, of("requeued").length)} settled ${Math.min(1, of("settled").length)}`);
  expect(reply.requeued.map(({ task_id, delivery, queue }) => [task_id, delivery, queue])).toEqual(
    of("requeued").map((task) => [task.name.task_id, task.delivery, "tasks"]),
  );
  expect(reply.settled).toEqual(of("settled").map(({ name }) => name));
  expect(reply.left).toBe(dead ? mine.length - taken.length : 0);
  return taken.map(({ task }) => task);
}

export function recover(at: number, limit: number, after_ms: number): Move {
  return move(`recover boot ${at} limit ${limit} after ${after_ms}`, async (model, f) => {
    await tick(model, f, after_ms);
    const boot = pickDead(model, at);
    return boot && (await doRecover(model, f, boot, limit))[0];
  });
}

export async function doFree(model: Model, f: LedgerFixture, boot: ModelBoot, right: FreeRight) {
  const open = model.grants.filter((held) => held.open && held.boot === boot);
  const runs = ({ task, ...held }: ModelGrant) => task.status === "RUNNING" && task.current?.grant === held.grant;
  const may = model.deadForGood(boot);
  const proven = (held: ModelGrant) => right.kind === "bound" || right.sandbox_ids.includes(sandboxOf(held).sandbox_id);
  const freed = open.filter((held) => may && !runs(held) && proven(held));
  const slice_freed = may && (right.kind === "bound" || right.all_gone) && holdsSlice(boot);
  const reply = await f.ledger.boots.free(boot.worker.boot_id, right);
  seen(`free by ${right.kind} ${Math.min(1, freed.length)}`);
  seen(`slice freed by ${right.kind} ${slice_freed}`);
  for (const held of freed) model.spend(held);
  if (slice_freed) boot.slice = { memory_mb: 0, pids: 0 };
  expect(reply).toMatchObject({ left: open.length - freed.length, slice_freed });
  return freed[0]?.task;
}

/** By the bound, or by proof of the sandboxes of some of all grants there ever were. */
export function free(at: number, every: number): Move {
  return move(`free boot ${at} by ${every === 0 ? "bound" : `proof of each ${every}th`}`, async (model, f) => {
    const boot = pickDead(model, at);
    const proven = model.grants.filter((_, index) => index % every === 0);
    const sandbox_ids = proven.map((held) => sandboxOf(held).sandbox_id);
    const right =
      every === 0 ? { kind: "bound" as const } : { kind: "proof" as const, sandbox_ids, all_gone: every === 1 };
    return boot && doFree(model, f, boot, right);
  });
}

export async function doReroute(model: Model, f: LedgerFixture, boot: ModelBoot, limit: number) {
  const routed = [...model.tasks.values()].filter((task) => task.route === boot);
  const takes =
    boot.state === "DEAD"
      ? !model.deadForGood(boot)
      : boot.state === "LIVE" && boot.fit && boot.host.healthy && !boot.host.draining;
  const sent = await f.ledger.boots.reroute(boot.worker.boot_id, limit);
  seen(`reroute ${Math.min(1, sent.length)}`);
  expect(sent).toHaveLength(takes ? 0 : Math.min(limit, routed.length));
  const gone = routed.filter((task) =>
    sent.some(({ workspace_id, task_id }) => `${workspace_id}.${task_id}` === named(task)),
  );
  for (const task of gone) model.redeliver(task, null);
  expect(sent.map(({ delivery, queue }) => [delivery, queue])).toEqual(
    sent.map(({ task_id, workspace_id }) => [model.tasks.get(`${workspace_id}.${task_id}`)?.delivery, "tasks"]),
  );
  return gone[0];
}

export function reroute(at: number, limit: number): Move {
  return move(`reroute boot ${at} limit ${limit}`, async (model, f) => {
    const boot = pickDead(model, at);
    return boot && doReroute(model, f, boot, limit);
  });
}
