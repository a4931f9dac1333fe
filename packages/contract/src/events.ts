/** Events of a task: 1..n without hole, the terminal one last. Readers ignore unknown keys. */
import { z } from "zod";
import { taskErrorSchema } from "./errors.js";
import { terminalStatusSchema } from "./outcome.js";

/** Fields of every stored event. `sequence` is the stream id without its `-0`. */
const stored = {
  sequence: z.int().positive(),
  /** Redis time in milliseconds. */
  at_ms: z.int(),
  /** 0 before the first grant. */
  attempt: z.int().nonnegative(),
};

export const STREAM_NAMES = ["stdout", "stderr"] as const;
export const streamNameSchema = z.enum(STREAM_NAMES);
export type StreamName = z.infer<typeof streamNameSchema>;

/** One batch of output. `bytes` is the decoded size; `dropped_bytes` were not stored just before this batch. */
export const logBodySchema = z.object({
  stream: streamNameSchema,
  encoding: z.enum(["utf8", "base64"]),
  data: z.string(),
  bytes: z.int().nonnegative(),
  dropped_bytes: z.int().nonnegative().default(0),
});
export type LogBody = z.infer<typeof logBodySchema>;

export const eventSchema = z.discriminatedUnion("kind", [
  z.object({ ...stored, kind: z.literal("task_accepted") }),
  z.object({ ...stored, kind: z.literal("task_started"), host_id: z.string(), generation: z.int() }),
  z.object({ ...stored, kind: z.literal("task_log"), ...logBodySchema.shape }),
  z.object({ ...stored, kind: z.literal("task_progress"), progress: z.record(z.string(), z.unknown()) }),
  z.object({ ...stored, kind: z.literal("task_requeued"), reason: z.string() }),
  z.object({
    ...stored,
    kind: z.literal("task_finished"),
    status: terminalStatusSchema,
    exit_code: z.int().nullable(),
    signal: z.string().nullable(),
    error: taskErrorSchema.nullable(),
  }),
]);
export type TaskEvent = z.infer<typeof eventSchema>;

/** What a worker appends; the ledger adds sequence, time and attempt. */
export type AppendBody =
  | ({ readonly kind: "task_log" } & LogBody)
  | { readonly kind: "task_progress"; readonly progress: Record<string, unknown> };

/** What a reader of a live stream gets besides stored events. None of these moves a cursor. */
export type StreamNotice =
  /** Events `from`..`to` were trimmed and cannot be read any more. */
  | { readonly kind: "gap"; readonly from: number; readonly to: number }
  /** The cursor lies beyond the end: the reader starts again at `sequence` 0. */
  | { readonly kind: "reset" }
  | { readonly kind: "task_heartbeat"; readonly at_ms: number }
  /** Three heartbeats were missed. */
  | { readonly kind: "stale" };

export type StreamItem = TaskEvent | StreamNotice;
