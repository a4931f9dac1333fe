/** Moves of producers, intake and boots. */
import { drawOwnerToken, drawSandboxId, type TaskId, type WorkspaceId } from "@holdfast/contract";
import { expect } from "vitest";
import { LEASE_MS, type LedgerFixture, request } from "./ledger-fixture.js";
import { type Model, type ModelBoot, type ModelGrant, type ModelTask, QUEUE_TIMEOUT_MS } from "./ledger-model.js";
import { type Move, move, pickBoot, pickTask, seen } from "./ledger-move.js";

export function accept(workspace: string, task: string, cpu: number, variant: number): Move {
  return move(`accept ${workspace}.${task} cpu ${cpu} variant ${variant}`, async (model, f) => {
    const member = `${workspace}.${task}`;
    const known = model.tasks.get(member);
    const cpu_milli = known?.cpu_milli ?? cpu * 1_000;
    const body = request({
      ...{ workspace_id: workspace, task_id: task, resources: { cpu: cpu_milli / 1_000 }, command: [`v${variant}`] },
      ...{ attempts_max: 2, queue_timeout_seconds: QUEUE_TIMEOUT_MS / 1_000 },
    });
    const reply = await f.ledger.tasks.accept(body, { queue: "tasks", job_id: null });
    seen(`accept ${reply.kind}`);
    if (known) {
      expect(["existing", "conflict"]).toContain(reply.kind);
      return known;
    }
    expect(reply.kind).toBe("accepted");
    const fresh: ModelTask = {
      ...{ name: { workspace_id: workspace as WorkspaceId, task_id: task as TaskId }, member, cpu_milli },
      ...{ attempts_max: 2, accepted_ms: model.now_ms, status: "PENDING", delivery: 1, attempt: 0, counted: 0 },
      ...{ hand_backs: 0, cancelled: false, told_cancelled: false, held: false, wait_scope: null, sequence: 1 },
      ...{ deadline_ms: model.now_ms + QUEUE_TIMEOUT_MS, started: 0, current: null, ended_by: null, record: null },
    };
    model.tasks.set(member, fresh);
    return fresh;
  });
}

export async function doAdmit(model: Model, f: LedgerFixture, task: ModelTask, boot: ModelBoot, delivery: number) {
  const job = { queue: "tasks", job_id: "x", ...task.name, delivery };
  const call = { ...job, ...boot.worker, sandbox_id: drawSandboxId(), owner_token: drawOwnerToken() };
  const already = task.status === "RUNNING";
  const expected = model.admit(task, boot, delivery);
  const reply = await f.ledger.tasks.admit(call);
  const answer = reply.kind === "parked" ? `parked ${reply.scope}` : reply.kind;
  seen(`admit ${answer}${already ? " again" : ""}`);
  expect(answer).toBe(expected);
  if (reply.kind !== "granted") return null;
  if (already) {
    expect(reply.grant).toMatchObject({ owner_token: task.current?.grant.owner_token });
    return task.current;
  }
  const fence = BigInt(reply.grant.fence);
  expect(fence).toBeGreaterThan(model.fence);
  model.fence = fence;
  task.attempt += 1;
  expect(reply.grant).toMatchObject({ attempt: task.attempt, generation: task.attempt, sequence: task.sequence });
  const held: ModelGrant = { grant: reply.grant, boot, task, open: true, active: false, gave_back: null };
  model.grants.push(held);
  Object.assign(task, { status: "RUNNING", held: true, current: held });
  return held;
}

export function admit(at: number, boot: number, off: number): Move {
  return move(`admit task ${at} boot ${boot} delivery ${off}`, async (model, f) => {
    const [task, from] = [pickTask(model, at), pickBoot(model, boot)];
    if (task && from) await doAdmit(model, f, task, from, task.delivery + off);
    return task;
  });
}

export function cancel(at: number): Move {
  return move(`cancel task ${at}`, async (model, f) => {
    const task = pickTask(model, at);
    if (!task) return undefined;
    const ended = task.status === "CANCELLED" ? "cancelled" : "finished";
    const expected = task.record !== null ? ended : task.status === "RUNNING" ? "requested" : "cancelled";
    const reply = await f.ledger.tasks.cancel(task.name);
    seen(`cancel ${reply.kind}`);
    expect(reply.kind).toBe(expected);
    if (task.record === null) {
      task.cancelled = true;
      if (expected === "cancelled") model.end(task, "CANCELLED");
    }
    if (expected === "cancelled") task.told_cancelled = true;
    return task;
  });
}

export function redeliver(at: number, off: number): Move {
  return move(`redeliver task ${at} ${off}`, async (model, f) => {
    const task = pickTask(model, at);
    if (!task) return undefined;
    const delivery = task.delivery + off;
    const reply = await f.ledger.tasks.redeliver({ ...task.name, queue: "tasks", job_id: "x", delivery }, "gone");
    const expected = task.status === "PENDING" && off === 0;
    seen(`redeliver ${expected}`);
    if (expected) task.delivery += 1;
    expect(reply?.delivery ?? null).toBe(expected ? task.delivery : null);
    return task;
  });
}

export const expire = (): Move =>
  move("expire", async (model, f) => {
    const late = [...model.tasks.values()].filter(
      (task) => task.status === "PENDING" && model.now_ms >= task.deadline_ms,
    );
    const { ended } = await f.ledger.tasks.expireQueued(1_000);
    seen(`expire ${Math.min(1, late.length)}`);
    const members = ended.map((name) => `${name.workspace_id}.${name.task_id}`);
    expect(members.toSorted()).toEqual(late.map((task) => task.member).toSorted());
    for (const task of late) model.end(task, "FAILED");
    return late[0];
  });

interface BeatOptions {
  readonly healthy: boolean;
  readonly holds: boolean;
  readonly copy: boolean;
}

export function beat(at: number, options: BeatOptions): Move {
  return move(`beat of boot ${at} ${JSON.stringify(options)}`, async (model, f) => {
    const boot = pickBoot(model, at);
    if (boot) await doBeat(model, f, boot, options);
    return undefined;
  });
}

/** What a healthy fleet does every two seconds. */
export const beatAll = (): Move =>
  move("beat of all boots", async (model, f) => {
    for (const boot of model.boots) await doBeat(model, f, boot, { healthy: true, holds: true, copy: false });
    return undefined;
  });

async function doBeat(model: Model, f: LedgerFixture, boot: ModelBoot, options: BeatOptions): Promise<void> {
  const counter = boot.counter + (options.copy ? 0 : 1);
  const own = model.grants.filter((held) => held.open && held.boot === boot);
  const held = options.holds ? own.map((each) => each.grant.owner_token) : [];
  const call = { ...boot.worker, counter, held, fence_seen: null, engine_healthy: options.healthy };
  const reply = await f.ledger.boots.beat(call);
  seen(`beat ${reply.kind}`);
  expect(reply.kind).toBe(boot.state === "DEAD" ? "dead" : "ok");
  if (reply.kind !== "ok") return;
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
  if (fresh) {
    boot.lease_ends_ms = model.now_ms + LEASE_MS;
    boot.host.healthy = options.healthy;
  }
  boot.counter = counter;
}
