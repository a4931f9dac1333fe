/** Tasks in the ledger. Each method is one script, so one atomic step; what it keeps is told in the script's header. */
import {
  type AppendBody,
  amountOf,
  BOUNDS,
  byteLength,
  canonicalJson,
  drawRequestId,
  HoldfastError,
  type Outcome,
  outcomeSchema,
  requestDigest,
  type StreamOutput,
  type TaskName,
  type TaskRequest,
  taskError,
  taskRequestSchema,
  taskStatusSchema,
  tooSmall,
  withoutOutput,
} from "@holdfast/contract";
import type { Caller } from "./caller.js";
import { grantArguments, grantOf } from "./grant.js";
import { idPart } from "./keys.js";
import type {
  AcceptReply,
  AdmitCall,
  AdmitReply,
  AppendReply,
  CancelReply,
  Grant,
  Origin,
  ReleaseReply,
  RequeueReply,
  SettleReply,
  TaskStore,
} from "./ledger.js";
import { deliveryOf, list, nameOf, outcomeOf, promotionsOf, type Reply, tagOf, text, whole } from "./replies.js";
import * as failures from "./task-failures.js";
import { listTasks, statusOf, viewOf } from "./task-views.js";

const DUE_MAX = 1_000;

export function createTaskStore(caller: Caller): TaskStore {
  const parts = (name: TaskName): [string, string] => [idPart(name.workspace_id), idPart(name.task_id)];
  const run = (script: string, name: TaskName, ...rest: (string | number)[]) =>
    caller.run(script, [...parts(name), ...rest]);

  return {
    accept: (request, origin) => accept(caller, request, origin),
    admit: (call) => admit(caller, call),
    activate: async (grant, sandbox_id) => {
      const reply = list(await caller.run("task-activate", [...grantArguments(grant), idPart(sandbox_id)]));
      const kind = tagOf(reply, ["active", "fenced", "cancelled"]);
      return kind === "active" ? { kind, sequence: whole(reply[1]) } : { kind };
    },
    append: async (grant, expected_sequence, bodies): Promise<AppendReply> => {
      if (bodies.length === 0) return { kind: "appended", sequence: expected_sequence };
      const stored = bodies.map((body) => JSON.stringify(body));
      const reply = list(await caller.run("task-append", [...grantArguments(grant), expected_sequence, ...stored]));
      const kind = tagOf(reply, ["appended", "fenced"]);
      return kind === "appended" ? { kind, sequence: whole(reply[1]) } : { kind };
    },
    settle: (grant, outcome, untold = []) => settle(caller, grant, outcome, untold),
    requeue: (grant, reason, counted) => requeue(caller, grant, reason, counted),
    release: (grant) => release(caller, grant),
    cancel: (name) => cancel(caller, name),
    follow: async (name, queue, job_id) => {
      if (`${queue}${job_id}`.includes("\n")) throw new HoldfastError("INVALID_REQUEST", { field: "job_id" });
      const reply = list(await run("task-follow", name, queue, job_id));
      const kind = tagOf(reply, ["waiting", "done", "unknown"]);
      return kind === "done" ? { kind, outcome: outcomeOf(reply[1]) } : { kind };
    },
    view: async (name) => {
      const [view] = list(await run("task-view", name));
      return view === undefined ? null : viewOf(view);
    },
    status: async (name) => statusOf(await run("task-status", name)),
    outcome: async (name) => {
      const [record, output] = list(await run("task-outcome", name));
      return record === undefined ? null : withText(outcomeOf(record), text(output));
    },
    list: (query) => listTasks(caller, query),
    dueForHealing: async (limit) =>
      list(await caller.run("task-heal", [between(1, limit, DUE_MAX)])).map((entry) => {
        const [workspace, task, ...delivery] = list(entry);
        return deliveryOf(nameOf(workspace, task), delivery);
      }),
    redeliver: async (seen, reason) => {
      const reply = list(await run("task-redeliver", seen, seen.delivery, drawRequestId(), reason));
      return tagOf(reply, ["redelivered", "overtaken"]) === "overtaken" ? null : deliveryOf(seen, reply.slice(1));
    },
    expireQueued: async (limit) => {
      const args = [between(1, limit, DUE_MAX), failures.QUEUE_TIMEOUT];
      const [ended, promotions] = list(await caller.run("task-expire", args));
      return {
        ended: list(ended).map((entry) => nameOf(list(entry)[0], list(entry)[1])),
        promotions: promotionsOf(promotions),
      };
    },
    look: async (name) => whole(await run("task-look", name)) === 1,
    headsWithRoom: async () => promotionsOf(await caller.run("task-heads", [])),
  };
}

function between(least: number, wanted: number, most: number): number {
  return Math.max(least, Math.min(Math.trunc(wanted), most));
}

async function accept(caller: Caller, request: TaskRequest, origin: Origin): Promise<AcceptReply> {
  const { workspace_id, task_id } = request;
  if (task_id === undefined) throw new HoldfastError("INVALID_REQUEST", { field: "task_id" });
  const body = canonicalJson(request);
  if (byteLength(body) > BOUNDS.body_bytes_max) {
    const message = `The whole request must be ${BOUNDS.body_bytes_max} bytes at most.`;
    return { kind: "refused", error: taskError("INVALID_REQUEST", { message }) };
  }
  const small = tooSmall(request.resources);
  if (small) return { kind: "refused", error: small };
  const amount = amountOf(request.resources);
  const reply = list(
    await caller.run("task-accept", [
      ...[idPart(workspace_id), idPart(task_id), requestDigest(request), body, request.image, request.runtime],
      ...[amount.slots, amount.cpu_milli, amount.memory_mb, amount.pids, request.attempts_max],
      ...[request.queue_timeout_seconds * 1_000, origin.queue, origin.job_id ?? ""],
    ]),
  );
  const kind = tagOf(reply, ["accepted", "existing", "conflict", "refused"]);
  if (kind === "conflict") return { kind };
  if (kind === "refused") return { kind, error: failures.refusalOf(text(reply[1]), request, reply.slice(2).map(text)) };
  return {
    kind,
    delivery: deliveryOf({ workspace_id, task_id }, reply.slice(1, 4)),
    status: taskStatusSchema.parse(reply[4]),
  };
}

async function admit(caller: Caller, call: AdmitCall): Promise<AdmitReply> {
  const reply = list(
    await caller.run("task-admit", [
      ...[idPart(call.workspace_id), idPart(call.task_id), idPart(call.boot_id), idPart(call.host_id), call.delivery],
      ...[idPart(call.sandbox_id), idPart(call.owner_token)],
    ]),
  );
  const kind = tagOf(reply, [
    "granted",
    "done",
    "busy",
    "parked",
    "elsewhere",
    "stale",
    "draining",
    "closed",
    "fenced",
  ]);
  switch (kind) {
    case "granted":
      return { kind, ...admitted(call, reply) };
    case "done":
      return { kind, outcome: outcomeOf(reply[1]), promotions: promotionsOf(reply[2]) };
    case "draining":
      return { kind, whose: tagOf(reply.slice(1), ["boot", "host"]) };
    case "parked":
      return { kind, scope: tagOf(reply.slice(1), ["host", "workspace", "fleet"]), promotions: promotionsOf(reply[2]) };
    case "elsewhere":
      return { kind, delivery: deliveryOf(call, reply.slice(1, 4)), promotions: promotionsOf(reply[4]) };
    default:
      return { kind };
  }
}

function admitted(call: AdmitCall, reply: readonly Reply[]): { grant: Grant; request: TaskRequest } {
  return { grant: grantOf(call, reply), request: taskRequestSchema.parse(JSON.parse(text(reply[9]))) };
}

async function settle(
  caller: Caller,
  grant: Grant,
  outcome: Outcome,
  untold: readonly AppendBody[],
): Promise<SettleReply> {
  const { status, exit_code, signal, error, stdout, stderr } = outcomeSchema.parse(outcome);
  const texts = { stdout: stdout.text, stderr: stderr.text };
  const record = JSON.stringify(withoutOutput(outcome));
  const finished = JSON.stringify({ kind: "task_finished", status, exit_code, signal, error });
  const output = texts.stdout || texts.stderr ? JSON.stringify(texts) : "";
  const drops = untold.map((body) => JSON.stringify(body));
  const args = [...grantArguments(grant), status, record, finished, output, ...drops];
  const reply = list(await caller.run("task-settle", args));
  const kind = tagOf(reply, ["settled", "already", "fenced"]);
  return kind === "fenced" ? { kind } : { kind, promotions: promotionsOf(reply[1]) };
}

async function requeue(caller: Caller, grant: Grant, reason: string, counted: boolean): Promise<RequeueReply> {
  const ends = failures.endsOfGivingBack(reason);
  const args = [...grantArguments(grant), counted ? 1 : 0, failures.requeuedEvent(reason), ...ends];
  const reply = list(await caller.run("task-requeue", args));
  const kind = tagOf(reply, ["requeued", "settled", "fenced"]);
  switch (kind) {
    case "fenced":
      return { kind };
    case "settled":
      return { kind, outcome: outcomeOf(reply[1]), promotions: promotionsOf(reply[2]) };
    case "requeued":
      return { kind, delivery: deliveryOf(grant, reply.slice(1, 4)), promotions: promotionsOf(reply[4]) };
  }
}

async function release(caller: Caller, grant: Parameters<TaskStore["release"]>[0]): Promise<ReleaseReply> {
  const reply = list(
    await caller.run("task-release", [
      ...[idPart(grant.workspace_id), idPart(grant.task_id), idPart(grant.owner_token), idPart(grant.boot_id)],
    ]),
  );
  const kind = tagOf(reply, ["released", "already"]);
  const requeued = reply[2] === "" ? null : deliveryOf(grant, reply.slice(2, 5));
  return { kind, promotions: promotionsOf(reply[1]), requeued };
}

async function cancel(caller: Caller, name: TaskName): Promise<CancelReply> {
  const args = [idPart(name.workspace_id), idPart(name.task_id), failures.CANCELLED];
  const reply = list(await caller.run("task-cancel", args));
  const kind = tagOf(reply, ["cancelled", "requested", "finished", "unknown"]);
  switch (kind) {
    case "cancelled":
      return { kind, outcome: outcomeOf(reply[1]), promotions: promotionsOf(reply[2]) };
    case "finished":
      return { kind, outcome: outcomeOf(reply[1]) };
    default:
      return { kind };
  }
}

/** Puts output text back; a stream of which nothing was written needs none. */
function withText(outcome: Outcome, output: string): Outcome {
  const texts = output === "" ? {} : (JSON.parse(output) as Record<string, unknown>);
  const filled = (stream: StreamOutput, kept: unknown): StreamOutput => ({
    ...stream,
    text: typeof kept === "string" ? kept : stream.total_bytes === 0 ? "" : null,
  });
  return {
    ...outcome,
    stdout: filled(outcome.stdout, texts["stdout"]),
    stderr: filled(outcome.stderr, texts["stderr"]),
  };
}
