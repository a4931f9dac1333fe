/** From a caller's input to an accepted task whose delivery is on its queue. */
import {
  drawTaskId,
  type FieldProblem,
  HoldfastError,
  isTerminal,
  parseTaskRequest,
  type TaskError,
  type TaskId,
  type TaskRequest,
  type TaskRequestInput,
  tooSmall,
  type WorkspaceId,
} from "@holdfast/contract";
import type { AcceptReply, Delivery, TaskStore } from "@holdfast/ledger";
import { boundedCall, SHARED_QUEUE, type TaskQueue } from "@holdfast/queue";

export interface Submitted {
  readonly workspace_id: WorkspaceId;
  readonly task_id: TaskId;
  /** True where the same request was accepted under this task_id before. */
  readonly existing: boolean;
}

export interface SubmitDeps {
  readonly tasks: Pick<TaskStore, "accept">;
  readonly queue: Pick<TaskQueue, "deliver">;
  readonly fail_fast_ms: number;
}

export async function submitTask(deps: SubmitDeps, input: TaskRequestInput): Promise<Submitted> {
  const { task_id = drawTaskId(), ...request } = checked(input);
  const named = { ...request, task_id };
  const started = performance.now();
  const reply = await accept(deps, named);
  switch (reply.kind) {
    case "conflict":
      throw new HoldfastError("TASK_CONFLICT", { field: "task_id", evidence: { task_id } });
    case "refused":
      throw refusal(reply.error);
    case "accepted":
    case "existing":
      break;
  }
  if (!isTerminal(reply.status)) {
    await deliver(deps, reply.delivery, deps.fail_fast_ms - (performance.now() - started));
  }
  return { workspace_id: request.workspace_id, task_id, existing: reply.kind === "existing" };
}

function checked(input: TaskRequestInput): TaskRequest {
  const parsed = parseTaskRequest(input);
  if (parsed.kind === "refused") throw invalidRequest(parsed.problems);
  const small = tooSmall(parsed.request.resources);
  if (small) throw refusal(small);
  return parsed.request;
}

/** A drawn task_id is told with the failure, so that the caller can send the very same task again. */
async function accept(deps: SubmitDeps, request: TaskRequest & { task_id: TaskId }): Promise<AcceptReply> {
  try {
    return await boundedCall(deps.fail_fast_ms, () =>
      deps.tasks.accept(request, { queue: SHARED_QUEUE, job_id: null }),
    );
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "LEDGER_UNAVAILABLE") throw error;
    const evidence = { workspace_id: request.workspace_id, task_id: request.task_id };
    throw new HoldfastError("LEDGER_UNAVAILABLE", { evidence, cause: error });
  }
}

/** An accepted task is never lost: where its job cannot be added now, the workers' healing adds it. */
async function deliver(deps: SubmitDeps, delivery: Delivery, left_ms: number): Promise<void> {
  try {
    await boundedCall(Math.max(1, left_ms), () => deps.queue.deliver(delivery));
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "LEDGER_UNAVAILABLE") throw error;
  }
}

function invalidRequest(problems: readonly FieldProblem[]): HoldfastError {
  const lines = problems.map(({ field, message }) => `${field} ${message}`);
  const field = problems[0]?.field ?? "request";
  const evidence = Object.fromEntries(problems.map((problem) => [problem.field, problem.message]));
  return new HoldfastError("INVALID_REQUEST", { message: lines.join("; "), field, evidence });
}

function refusal(error: TaskError): HoldfastError {
  const { code, message, evidence, retry_after_ms } = error;
  const field = typeof evidence.field === "string" ? { field: evidence.field } : {};
  return new HoldfastError(code, {
    message,
    evidence,
    ...field,
    ...(retry_after_ms === undefined ? {} : { retry_after_ms }),
  });
}
