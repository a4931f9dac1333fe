/** Moves of producers and intake. */
import {
  byteLength,
  canonicalJson,
  drawOwnerToken,
  drawSandboxId,
  type TaskId,
  type WorkspaceId,
} from "@holdfast/contract";
import { type AdmitReply, bootQueue } from "@holdfast/ledger";
import { expect } from "vitest";
import { type LedgerFixture, request } from "./ledger-fixture.js";
import {
  type Model,
  type ModelBoot,
  type ModelGrant,
  type ModelTask,
  QUEUE_TIMEOUT_MS,
  type SentAdmit,
} from "./ledger-model.js";
import { followMoves, type Move, move, pick, pickBoot, pickTask, seen } from "./ledger-move.js";

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
    const refused = known ? null : model.refused(workspace, cpu_milli, byteLength(canonicalJson(body)));
    seen(`accept ${refused ?? reply.kind}`);
    if (known) {
      expect(["existing", "conflict"]).toContain(reply.kind);
      return known;
    }
    expect(reply).toMatchObject(refused ? { kind: "refused", error: { code: refused } } : { kind: "accepted" });
    if (refused) return undefined;
    const fresh: ModelTask = {
      ...{ name: { workspace_id: workspace as WorkspaceId, task_id: task as TaskId }, member, cpu_milli },
      body_bytes: byteLength(canonicalJson(body)),
      ...{ attempts_max: 2, accepted_ms: model.now_ms, status: "PENDING", delivery: 1, attempt: 0, counted: 0 },
      ...{ hand_backs: 0, cancelled: false, told_cancelled: false, held: false, wait_scope: null, sequence: 1 },
      ...{
        route: null,
        moved: null,
        deadline_ms: model.now_ms + QUEUE_TIMEOUT_MS,
        started: 0,
        current: null,
        ended_by: null,
        record: null,
      },
    };
    model.tasks.set(member, fresh);
    return fresh;
  });
}

export async function doAdmit(model: Model, f: LedgerFixture, task: ModelTask, boot: ModelBoot, delivery: number) {
  const call = { ...task.name, ...boot.worker, delivery, sandbox_id: drawSandboxId(), owner_token: drawOwnerToken() };
  const sent = { call, member: task.member, boot };
  model.sent.push(sent);
  return sendAdmit(model, f, sent);
}

function answerOf(reply: AdmitReply): string {
  if (reply.kind === "parked") return `parked ${reply.scope}`;
  return reply.kind === "draining" ? `draining ${reply.whose}` : reply.kind;
}

async function sendAdmit(model: Model, f: LedgerFixture, { call, member, boot }: SentAdmit, copy = "") {
  if (boot.silent) return null;
  await followMoves(model, f);
  const task = model.tasks.get(member);
  const already = task?.status === "RUNNING" ? " again" : "";
  const expected = model.admit(task, boot, call.delivery, call.owner_token);
  const reply = await f.ledger.tasks.admit(call);
  const answer = answerOf(reply);
  seen(`admit${copy} ${answer}${already}`);
  expect(answer).toBe(expected);
  if (reply.kind === "elsewhere" && task) {
    const queue = task.route === null ? "" : bootQueue(task.route.worker.boot_id);
    expect(reply.delivery).toMatchObject({ delivery: task.delivery, queue, job_id: `${member}.${task.delivery}` });
  }
  if (reply.kind !== "granted" || !task) return null;
  if (already) {
    expect(reply.grant).toMatchObject({ owner_token: task.current?.grant.owner_token });
    return task.current;
  }
  expectRisingFence(model, boot, BigInt(reply.grant.fence));
  task.attempt += 1;
  expect(reply.grant).toMatchObject({ attempt: task.attempt, generation: task.attempt, sequence: task.sequence });
  const held: ModelGrant = { grant: reply.grant, boot, task, open: true, active: false, warm: null, gave_back: null };
  model.grants.push(held);
  Object.assign(task, { status: "RUNNING", held: true, current: held, route: null });
  return held;
}

/** L1: also over all that a crash made the ledger forget. */
function expectRisingFence(model: Model, boot: ModelBoot, fence: bigint): void {
  expect(fence).toBeGreaterThan(model.fence);
  model.fence = fence;
  const { heard, pairs } = model.world;
  expect(fence).toBeGreaterThan(heard.get(boot.worker.boot_id) ?? 0n);
  heard.set(boot.worker.boot_id, fence);
  const pair = `${boot.worker.boot_id} ${fence}`;
  expect(pairs.has(pair)).toBe(false);
  pairs.add(pair);
}

/** A copy of an admit that was sent before, late or sent again by the client. */
export function admitAgain(at: number): Move {
  return move(`copy of admit ${at}`, async (model, f) => {
    const sent = pick(model.sent.toReversed(), at);
    if (sent) await sendAdmit(model, f, sent, " copy");
    return sent && model.tasks.get(sent.member);
  });
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
    const runs = task.status === "RUNNING" && task.current?.boot.state !== "DEAD";
    const expected = task.record !== null ? ended : runs ? "requested" : "cancelled";
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
    if (expected) model.redeliver(task, null);
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
