/**
 * BullMQ as transport and visibility, never as truth: a job is an envelope around ids, or a plain producer's request.
 */
import type { BootId, Outcome, TaskName } from "@holdfast/contract";
import type { Delivery, Promotion } from "@holdfast/ledger";

/** The shared queue every producer may use. */
export const SHARED_QUEUE = "tasks";

export type Envelope =
  | { readonly kind: "delivery"; readonly name: TaskName; readonly delivery: number; readonly job_id: string }
  /** The whole request is in the job's data. `derived_task_id` is used where the request names none. */
  | { readonly kind: "plain"; readonly request: unknown; readonly derived_task_id: string; readonly job_id: string }
  | { readonly kind: "malformed"; readonly message: string; readonly job_id: string };

/** What becomes of the job. */
export type Disposition =
  /** Completed with the outcome without output text. */
  | { readonly kind: "complete"; readonly outcome: Outcome }
  /** Completed: another delivery carries the task. */
  | { readonly kind: "stale" }
  /** Sleeps until promoted, `sleep_ms` at most. Counts no attempt. */
  | { readonly kind: "park"; readonly sleep_ms: number }
  /** Back to the head of its queue. Counts no attempt. */
  | { readonly kind: "give_back" }
  /** The job itself is unusable: it fails for good with this message. */
  | { readonly kind: "reject"; readonly message: string };

export interface ConsumeOptions {
  readonly queue: string;
  readonly boot_id: BootId;
  /** Never throws for an expected ending. */
  handle(envelope: Envelope, queue: string): Promise<Disposition>;
  onNotice?(notice: { readonly event: string; readonly [field: string]: unknown }): void;
}

/** Fetches only while slots are free. */
export interface Consumer {
  /** Jobs that may be under way at once from now on; 0 pauses the fetch. */
  setSlots(slots: number): void;
  /** Stops fetching; jobs under way go on. */
  pause(): void;
  /** Ends within `deadline_ms` whatever Redis does. */
  close(deadline_ms: number): Promise<void>;
  /** Monotonic milliseconds since the last fetch that returned; input of the watchdog. */
  idleMs(): number;
}

export type JobState = "waiting" | "active" | "parked" | "finished" | "gone";

export interface QueueCounts {
  readonly waiting: number;
  readonly active: number;
  readonly parked: number;
}

export interface TaskQueue {
  /** Adds the job of a delivery. Repeating it changes nothing. */
  deliver(delivery: Delivery): Promise<void>;
  /** Wakes parked jobs ahead of new ones; a job that is not parked any more is left alone. */
  promote(promotions: readonly Promotion[]): Promise<void>;
  state(queue: string, job_id: string): Promise<JobState>;
  counts(queue: string): Promise<QueueCounts>;
  consume(options: ConsumeOptions): Promise<Consumer>;
  /** The BullMQ queue behind `tasks`, for Bull Board. */
  boardQueue(): unknown;
  close(): Promise<void>;
}
