/** What a move of the property test is: one call, its answer compared with the model's, and everything counted. */
import type { TaskName } from "@holdfast/contract";
import { census } from "@holdfast/ledger";
import type fc from "fast-check";
import { expect } from "vitest";
import type { LedgerFixture } from "./ledger-fixture.js";
import { holdsSlice, type Model, type ModelBoot, type ModelTask } from "./ledger-model.js";
import { expectStatus } from "./ledger-status-model.js";

export type Move = fc.AsyncCommand<Model, LedgerFixture>;
type Act = (model: Model, f: LedgerFixture) => Promise<ModelTask | undefined>;

/** How often each answer was seen, over all runs. */
export const answers = new Map<string, number>();

export function seen(answer: string): void {
  answers.set(answer, (answers.get(answer) ?? 0) + 1);
}

export function move(name: string, act: Act): Move {
  return {
    check: () => true,
    run: async (model, f) => {
      const touched = await act(model, f);
      model.world.transitions += 1;
      await followMoves(model, f);
      await expectSound(model, f, touched);
    },
    toString: () => name,
  };
}

export async function tick(model: Model, f: LedgerFixture, ms: number): Promise<void> {
  model.world.now_ms += ms;
  model.world.elapsed_ms += Math.max(0, ms);
  await f.setClock(model.now_ms);
}

/** Whatever wakes heads moves waiters to the list of what denies them by now, as admit does. */
export async function followMoves(model: Model, f: LedgerFixture): Promise<void> {
  for (const task of [...model.tasks.values()].filter((each) => each.wait_scope !== null)) {
    const { workspace_id, task_id } = task.name;
    const scope = await f.redis.hget(`${f.root}:task:${workspace_id}:${task_id}`, "wait_scope");
    if (scope === task.wait_scope) continue;
    expect([task.held, scope]).toEqual([false, expect.stringMatching(/^(workspace|fleet)$/)]);
    task.wait_scope = scope as ModelTask["wait_scope"];
    seen(`moved to ${scope}`);
  }
}

/** No lost wake-up: while one of those could be admitted somewhere, some head is named; and heads are waiters. */
export function expectNoneForgotten(
  model: Model,
  named: readonly TaskName[],
  concerned: (task: ModelTask) => boolean = () => true,
): void {
  const waiters = [...model.tasks.values()].filter((task) => task.wait_scope !== null);
  const members = new Set(waiters.map((task) => task.member));
  for (const { workspace_id, task_id } of named) expect(members.has(`${workspace_id}.${task_id}`)).toBe(true);
  const takers = model.boots.filter(
    (boot) => model.takesTasks(boot) && !boot.host.draining && !model.showsStrangers(boot.host),
  );
  const able = waiters.filter(concerned).some((task) => takers.some((boot) => model.denied(task, boot.host) === null));
  if (able) expect(named).not.toEqual([]);
}

/** C1, C2 by recount; V1 and T1 of the task that was touched. */
async function expectSound(model: Model, f: LedgerFixture, task: ModelTask | undefined): Promise<void> {
  const { miscounted, overcommitted, reservations, waiters } = await census(f.ledger);
  expect(miscounted).toEqual([]);
  const over = overcommitted.map((line) => line.replace(/ [0-9]+ of [0-9]+$/, ""));
  expect(over.toSorted()).toEqual(model.overcommitted().toSorted());
  const open = model.grants.filter((held) => held.open).map((held) => held.grant.owner_token);
  expect(reservations.toSorted()).toEqual(open.toSorted());
  const waiting = [...model.tasks.values()].filter((each) => each.wait_scope !== null).map((each) => each.member);
  expect(waiters.map((line) => line.split(" ")[1]).toSorted()).toEqual(waiting.toSorted());
  if (!task) return;
  const events = await f.ledger.events.read(task.name, 0, 256);
  expect(events.map(({ sequence }) => sequence)).toEqual(Array.from({ length: task.sequence }, (_, n) => n + 1));
  expect(events.findIndex(({ kind }) => kind === "task_finished") + 1).toBe(task.record === null ? 0 : task.sequence);
  const view = await f.ledger.tasks.view(task.name);
  expect(view).toMatchObject({ status: task.status, attempt: task.attempt, delivery: task.delivery });
  await expectStatus(model, f, task);
  if (task.record === null) return;
  const record = JSON.stringify(view?.outcome);
  if (task.record !== "") expect(record).toBe(task.record);
  task.record = record;
  if (task.told_cancelled) expect(task.status).toBe("CANCELLED");
}

/** Small numbers are boots that are DEAD and hold something, then any DEAD, then any. */
export function pickDead(model: Model, at: number): ModelBoot | undefined {
  const dead = model.boots.filter((boot) => boot.state === "DEAD").toReversed();
  const named = (boot: ModelBoot) =>
    holdsSlice(boot) ||
    model.grants.some((held) => held.open && held.boot === boot) ||
    [...model.tasks.values()].some((task) => task.route === boot);
  const holding = dead.filter(named);
  if (at < 8 && holding.length > 0) return pick(holding, at);
  return pick(at < 10 && dead.length > 0 ? dead : model.boots, at);
}

export const pick = <Value>(from: readonly Value[], at: number): Value | undefined =>
  from[at % Math.max(1, from.length)];

/** Small numbers are tasks that go on, so that most moves have something to change; large ones are any. */
export function pickTask(model: Model, at: number): ModelTask | undefined {
  const all = [...model.tasks.values()];
  if (at < 3) return pick(all.filter((task) => task.status === "RUNNING").toReversed(), at);
  return pick(at < 9 ? all.filter((task) => task.record === null) : all, at);
}

/** Small numbers are boots that may act. */
export function pickBoot(model: Model, at: number): ModelBoot | undefined {
  const acting = model.boots.filter((boot) => boot.state === "LIVE" && model.leaseStands(boot));
  return pick(at < 9 && acting.length > 0 ? acting : model.boots, at);
}
