/** A plain producer's job holds the whole request: it becomes a task, and the job its delivery or its follower. */
import {
  HoldfastError,
  parseTaskRequest,
  type TaskName,
  type TaskRequest,
  TIMES,
  taskError,
  taskIdSchema,
} from "@holdfast/contract";
import type { AcceptReply } from "@holdfast/ledger";
import type { Disposition, Envelope } from "@holdfast/queue";
import type { BootState } from "../boot/boot-state.js";
import { refusedOutcome } from "../run/outcome-of.js";
import { admitDelivery } from "./admission.js";

type PlainEnvelope = Extract<Envelope, { kind: "plain" }>;
type NamedRequest = TaskRequest & TaskName;

type Read =
  | { readonly kind: "request"; readonly request: NamedRequest }
  | { readonly kind: "rejected"; readonly disposition: Disposition };

function read(envelope: PlainEnvelope): Read {
  const parsed = parseTaskRequest(envelope.request);
  if (parsed.kind === "refused") {
    const named = parsed.problems.map(({ field, message }) => `${field} ${message}`).join("; ");
    return { kind: "rejected", disposition: { kind: "reject", message: `INVALID_REQUEST: ${named}` } };
  }
  const task_id = parsed.request.task_id ?? taskIdSchema.parse(envelope.derived_task_id);
  return { kind: "request", request: { ...parsed.request, task_id } };
}

function refused(boot: BootState, request: NamedRequest, error: ReturnType<typeof taskError>): Disposition {
  const { workspace_id, task_id, image } = request;
  boot.logger.info("request_refused", { workspace_id, task_id, error_code: error.code });
  return { kind: "complete", outcome: refusedOutcome({ workspace_id, task_id }, image, error, null) };
}

/** While another job carries the task, this one sleeps until settle wakes it. */
async function followTask(boot: BootState, name: TaskName, queue: string, job_id: string): Promise<Disposition> {
  const reply = await boot.ledger.tasks.follow(name, queue, job_id);
  switch (reply.kind) {
    case "done":
      return { kind: "complete", outcome: reply.outcome };
    case "waiting": {
      const overslept = async () => (await boot.ledger.tasks.follow(name, queue, job_id)).kind === "done";
      return { kind: "park", sleep_ms: TIMES.parked_sleep_ms, overslept };
    }
    case "unknown":
      return { kind: "give_back" };
  }
}

async function accepted(
  boot: BootState,
  name: TaskName,
  queue: string,
  job_id: string,
  reply: Extract<AcceptReply, { kind: "accepted" | "existing" }>,
): Promise<Disposition> {
  const { delivery } = reply;
  if (delivery.job_id !== job_id || delivery.queue !== queue) return followTask(boot, name, queue, job_id);
  const disposition = await admitDelivery(boot, name, delivery.delivery, "shared");
  // A lost attempt goes on in a delivery of its own; this job still owes its producer the outcome.
  return disposition.kind === "stale" ? followTask(boot, name, queue, job_id) : disposition;
}

export async function plainJob(boot: BootState, envelope: PlainEnvelope, queue: string): Promise<Disposition> {
  if (!boot.gate.isOpen) return { kind: "give_back" };
  const parsed = read(envelope);
  if (parsed.kind === "rejected") return parsed.disposition;
  const { request } = parsed;
  const { job_id } = envelope;
  try {
    const reply = await boot.ledger.tasks.accept(request, { queue, job_id });
    switch (reply.kind) {
      case "accepted":
      case "existing":
        return await accepted(boot, request, queue, job_id, reply);
      case "conflict":
        return refused(boot, request, taskError("TASK_CONFLICT"));
      case "refused":
        return refused(boot, request, reply.error);
    }
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.fault === "platform") throw error;
    return refused(boot, request, taskError(error.code, { message: error.message, evidence: error.evidence }));
  }
}
