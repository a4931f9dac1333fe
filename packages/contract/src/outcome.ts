/** How a task ended. Written once; null means unknown or not applicable and never becomes 0. */
import { z } from "zod";
import { taskErrorSchema } from "./errors.js";
import { hostIdSchema, taskIdSchema, workspaceIdSchema } from "./ids.js";

export const TERMINAL_STATUSES = ["SUCCEEDED", "FAILED", "TIMEOUT", "CANCELLED"] as const;
export const TASK_STATUSES = ["PENDING", "RUNNING", ...TERMINAL_STATUSES] as const;
export const terminalStatusSchema = z.enum(TERMINAL_STATUSES);
export const taskStatusSchema = z.enum(TASK_STATUSES);
export type TerminalStatus = z.infer<typeof terminalStatusSchema>;
export type TaskStatus = z.infer<typeof taskStatusSchema>;

export function isTerminal(status: TaskStatus): status is TerminalStatus {
  return status !== "PENDING" && status !== "RUNNING";
}

/**
 * One stream as kept in the outcome: at most 1 MiB, head half and tail half with a marker between.
 * `encoding` is base64 where the kept bytes are not UTF-8. `text` is null once its shorter retention has passed
 * (or where a reader gets the outcome without output); size and digest stay.
 */
export const streamOutputSchema = z.object({
  text: z.string().nullable(),
  encoding: z.enum(["utf8", "base64"]),
  truncated: z.boolean(),
  total_bytes: z.int().nonnegative(),
  /** Hex sha-256 over all bytes of the stream, also those not kept. */
  sha256: z.string().nullable(),
});
export type StreamOutput = z.infer<typeof streamOutputSchema>;

/** Proof that no process of the task was left when it ended: taken by process 1 inside the sandbox. */
export const treeReceiptSchema = z.object({
  killed_processes: z.int().nonnegative(),
  survivors: z.int().nonnegative(),
  kill_ms: z.int().nonnegative(),
});
export type TreeReceipt = z.infer<typeof treeReceiptSchema>;

export const limitsSchema = z.object({
  cpu: z.number(),
  /** The limit of the whole sandbox: memory_mb + disk_mb + 128. */
  memory_mb: z.int(),
  disk_mb: z.int(),
  pids_limit: z.int(),
  timeout_seconds: z.int(),
});
export type Limits = z.infer<typeof limitsSchema>;

const ms = z.int().nonnegative();
const count = z.int().nonnegative();

export const outcomeSchema = z.object({
  workspace_id: workspaceIdSchema,
  task_id: taskIdSchema,
  status: terminalStatusSchema,
  /** False where no attempt ever started user code. */
  ran: z.boolean(),
  warm: z.boolean(),
  exit_code: z.int().nullable(),
  /** Name such as `SIGKILL`, from waitpid. */
  signal: z.string().nullable(),
  attempt: count,
  host_id: hostIdSchema.nullable(),
  image: z.string(),
  image_digest: z.string().nullable(),
  generation: count,
  state_lost: z.boolean(),
  /** The runtime that isolated the code, such as `runc`; null where nothing ran. */
  isolation: z.string().nullable(),
  stdout: streamOutputSchema,
  stderr: streamOutputSchema,
  limits: limitsSchema.nullable(),
  timing: z.object({
    queued_ms: ms.nullable(),
    setup_ms: ms.nullable(),
    run_ms: ms.nullable(),
    harvest_ms: ms.nullable(),
    total_ms: ms.nullable(),
  }),
  usage: z.object({
    cpu_ms: ms.nullable(),
    memory_peak_bytes: count.nullable(),
    killed_processes: count.nullable(),
    kill_ms: ms.nullable(),
  }),
  tree_receipt: treeReceiptSchema.nullable(),
  /** True while the sandbox's removal is not yet proven. */
  cleanup_pending: z.boolean(),
  error: taskErrorSchema.nullable(),
});
export type Outcome = z.infer<typeof outcomeSchema>;

/** A stream of which nothing was written. */
export function emptyStream(): StreamOutput {
  return { text: "", encoding: "utf8", truncated: false, total_bytes: 0, sha256: null };
}

/** The outcome as a queue job and the terminal record keep it: sizes and digests, no text. */
export function withoutOutput(outcome: Outcome): Outcome {
  return {
    ...outcome,
    stdout: { ...outcome.stdout, text: null },
    stderr: { ...outcome.stderr, text: null },
  };
}
