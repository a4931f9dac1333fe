/** From what was seen of an attempt to its outcome. Pure; null stays null, and output text decides nothing (O1). */
import {
  type ErrorCode,
  type Evidence,
  emptyStream,
  type HostId,
  type Limits,
  type Outcome,
  type StreamOutput,
  type TaskError,
  type TaskName,
  type TaskRequest,
  type TerminalStatus,
  type TreeReceipt,
  taskError,
} from "@holdfast/contract";
import { judgeExit, type Sandbox } from "@holdfast/engine";
import type { Grant } from "@holdfast/ledger";
import type { GuestExit } from "./endings.js";

/** What is known of an attempt, however it ended. */
export interface AttemptFacts {
  readonly grant: Grant;
  readonly request: TaskRequest;
  readonly sandbox: Pick<Sandbox, "image_digest" | "runtime" | "limits"> | null;
  /** The sandbox had waited for its task. */
  readonly warm: boolean;
  /** True once the command was sent to the sandbox. */
  readonly ran: boolean;
  readonly setup_ms: number | null;
  readonly run_ms: number | null;
  readonly total_ms: number;
  readonly stdout: StreamOutput;
  readonly stderr: StreamOutput;
  /** The container was proven gone. */
  readonly proven_gone: boolean;
}

/** Why it ended, as far as it is the caller's to know. */
export type Reason =
  | { readonly kind: "exit"; readonly exit: GuestExit }
  | { readonly kind: "cancelled"; readonly exit: GuestExit | null; readonly tree: TreeReceipt | null }
  /** Ended by the worker at its own limit: the agent did not answer. */
  | { readonly kind: "time_limit" }
  | { readonly kind: "guest_lost"; readonly oom_killed: boolean | null }
  | { readonly kind: "refused"; readonly error: TaskError };

interface Verdict {
  readonly status: TerminalStatus;
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly error: TaskError | null;
}

const NO_CODE = { exit_code: null, signal: null } as const;

function timeLimit(request: TaskRequest): TaskError {
  return taskError("TIME_LIMIT", {
    message: `The command was ended at its time limit of ${request.timeout_seconds} s.`,
    evidence: { timeout_seconds: request.timeout_seconds },
  });
}

function lostGuest(facts: AttemptFacts, oom_killed: boolean | null): TaskError {
  const evidence: Evidence = { oom_killed, memory_mb: facts.sandbox?.limits.memory_mb ?? null };
  if (oom_killed !== true) return taskError("SANDBOX_ENDED_BY_CODE", { evidence });
  const message = `The sandbox ran out of its memory limit of ${facts.sandbox?.limits.memory_mb} MiB.`;
  return taskError("OUT_OF_MEMORY", { message, evidence });
}

/** What a shell would have said, where the command never started. */
const START_FAILURE_CODES: Partial<Record<ErrorCode, number>> = {
  COMMAND_NOT_FOUND: 127,
  COMMAND_NOT_EXECUTABLE: 126,
};

function exitVerdict(facts: AttemptFacts, exit: GuestExit): Verdict {
  const { request } = facts;
  const { resources, timeout_seconds, working_directory } = request;
  const program = request.command[0] ?? "";
  const error = judgeExit(exit, { resources, timeout_seconds, working_directory, program });
  const { signal } = exit;
  if (error === null) return { status: "SUCCEEDED", exit_code: exit.exit_code, signal, error };
  const exit_code = exit.exit_code ?? START_FAILURE_CODES[error.code] ?? null;
  if (error.code !== "TIME_LIMIT") return { status: "FAILED", exit_code, signal, error };
  // It may have ended by itself at the very moment: a time limit never reads as success.
  return { status: "TIMEOUT", exit_code: exit_code === 0 ? null : exit_code, signal, error };
}

function verdictOf(facts: AttemptFacts, reason: Reason): Verdict {
  switch (reason.kind) {
    case "exit":
      return exitVerdict(facts, reason.exit);
    case "cancelled": {
      // A command that ended well just before the cancel reached it is still a cancelled task.
      const coded = reason.exit !== null && reason.exit.exit_code !== 0;
      const code = coded ? { exit_code: reason.exit.exit_code, signal: reason.exit.signal } : NO_CODE;
      return { status: "CANCELLED", ...code, error: taskError("CANCELLED") };
    }
    case "time_limit":
      return { status: "TIMEOUT", ...NO_CODE, error: timeLimit(facts.request) };
    case "guest_lost":
      return { status: "FAILED", ...NO_CODE, error: lostGuest(facts, reason.oom_killed) };
    case "refused":
      return { status: "FAILED", ...NO_CODE, error: reason.error };
  }
}

function limitsOf(facts: AttemptFacts): Limits | null {
  if (facts.sandbox === null) return null;
  return { ...facts.sandbox.limits, timeout_seconds: facts.request.timeout_seconds };
}

export function outcomeOf(facts: AttemptFacts, reason: Reason): Outcome {
  const { grant, request, sandbox } = facts;
  const exit = reason.kind === "exit" || reason.kind === "cancelled" ? reason.exit : null;
  const tree = (reason.kind === "cancelled" ? reason.tree : null) ?? exit?.tree ?? null;
  const queued_ms = Math.max(0, grant.granted_at_ms - grant.accepted_at_ms);
  return {
    workspace_id: grant.workspace_id,
    task_id: grant.task_id,
    ...verdictOf(facts, reason),
    ran: facts.ran,
    warm: facts.warm,
    attempt: grant.attempt,
    host_id: grant.host_id,
    image: request.image,
    image_digest: sandbox?.image_digest ?? null,
    generation: grant.generation,
    state_lost: false,
    isolation: facts.ran ? (sandbox?.runtime ?? null) : null,
    stdout: facts.stdout,
    stderr: facts.stderr,
    limits: limitsOf(facts),
    timing: {
      queued_ms,
      setup_ms: facts.setup_ms,
      run_ms: exit === null ? facts.run_ms : Math.round(exit.wall_ms),
      harvest_ms: null,
      total_ms: queued_ms + facts.total_ms,
    },
    usage: {
      cpu_ms: exit === null ? null : Math.round(exit.cpu_ms),
      memory_peak_bytes: exit?.memory_peak_bytes ?? null,
      killed_processes: tree?.killed_processes ?? null,
      kill_ms: tree?.kill_ms ?? null,
    },
    tree_receipt: tree,
    cleanup_pending: !facts.proven_gone && (sandbox !== null || !facts.ran) && tree?.survivors !== 0,
  };
}

/** The outcome of a request that never became a task: nothing of it is in the ledger. */
export function refusedOutcome(name: TaskName, image: string, error: TaskError, host_id: HostId | null): Outcome {
  return {
    ...name,
    status: "FAILED",
    ran: false,
    warm: false,
    exit_code: null,
    signal: null,
    attempt: 0,
    host_id,
    image,
    image_digest: null,
    generation: 0,
    state_lost: false,
    isolation: null,
    stdout: emptyStream(),
    stderr: emptyStream(),
    limits: null,
    timing: { queued_ms: null, setup_ms: null, run_ms: null, harvest_ms: null, total_ms: null },
    usage: { cpu_ms: null, memory_peak_bytes: null, killed_processes: null, kill_ms: null },
    tree_receipt: null,
    cleanup_pending: false,
    error,
  };
}
