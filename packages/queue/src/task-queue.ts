/**
 * BullMQ as transport and visibility, never as truth: a job is an envelope around ids, or a plain producer's request.
 */
import type { BootId, Outcome, TaskName } from "@holdfast/contract";
import type { Delivery, Ledger, Promotion } from "@holdfast/ledger";
import type { Queue } from "bullmq";

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
  | {
      readonly kind: "park";
      readonly sleep_ms: number;
      /** Asked once the job sleeps: true wakes it, since who wakes sleepers may have come while it lay down. */
      overslept?(): Promise<boolean>;
    }
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

/** Fetches only while slots are free. It starts with none: the first setSlots() starts the fetch. */
export interface Consumer {
  /**
   * Jobs that may be under way at once from now on, those that are already included; 0 pauses the fetch.
   * A fetch that was waiting when the number fell may still bring one job more: it is handed over like any other.
   */
  setSlots(slots: number): void;
  /** setSlots(0): stops fetching; jobs under way go on. */
  pause(): void;
  /** Waits for the jobs under way, `deadline_ms` at most, and ends by then whatever Redis does. */
  close(deadline_ms: number): Promise<void>;
  /** Monotonic milliseconds since the last fetch that returned; input of the watchdog. */
  idleMs(): number;
}

/** `delayed` by somebody: it sleeps for longer than a parking of ours lasts. */
export type JobState = "waiting" | "active" | "parked" | "delayed" | "finished" | "gone";

export interface QueueCounts {
  readonly waiting: number;
  readonly active: number;
  readonly parked: number;
  /** Somebody paused the queue for all workers: nothing is fetched from it until it is resumed. */
  readonly paused: boolean;
}

export interface Trimmed {
  readonly removed: number;
  /** Beyond the number and still there. */
  readonly left: number;
}

/** The queue as Bull Board takes it. */
export type BoardQueue = Queue;

export interface TaskQueueOptions {
  /** Gives the connections; the queue's own are ended by close(). */
  readonly ledger: Pick<Ledger, "connection">;
  /** First part of BullMQ's keys; BullMQ's own default, so that any producer reaches the queue without settings. */
  readonly prefix?: string;
  /** How long a call waits for Redis before it throws LEDGER_UNAVAILABLE. Default 10,000. */
  readonly fail_fast_ms?: number;
}

/** Every call but consume() and close() throws LEDGER_UNAVAILABLE within `fail_fast_ms` where Redis is away. */
export interface TaskQueue {
  /** Adds the job of a delivery. Repeating it changes nothing; a delivery in a plain producer's job needs none. */
  deliver(delivery: Delivery): Promise<void>;
  /**
   * Wakes parked jobs ahead of new ones, the first named first. One that woke by itself and waits again is moved
   * ahead likewise; any other job is left alone. Answers how many it woke.
   */
  promote(promotions: readonly Promotion[]): Promise<number>;
  /**
   * A job of somebody else under an id of ours counts as `gone`: it brings no delivery. Where more than 1,000 jobs
   * wait, one that has not finished and does not sleep for long is told to wait: no list is searched then.
   */
  state(queue: string, job_id: string): Promise<JobState>;
  counts(queue: string): Promise<QueueCounts>;
  consume(options: ConsumeOptions): Promise<Consumer>;
  /** Removes a dead boot's own queue with all in it; repeatable. Routes are facts of the ledger, never of a queue. */
  removeBootQueue(boot_id: BootId): Promise<void>;
  /**
   * Removes jobs of the shared queue that completed, and likewise those that failed, beyond `kept`: the oldest first,
   * 1,000 each at most. Jobs of plain producers may say themselves that they stay for ever. `dry_run` only counts.
   */
  trimFinished(kept: number, dry_run?: boolean): Promise<Trimmed>;
  /** The BullMQ queue behind `tasks`, for Bull Board. */
  boardQueue(): BoardQueue;
  /** A boot's own queue likewise, whether it is there or not. Whoever opens it closes it. */
  openBootQueue(boot_id: BootId): BoardQueue;
  close(): Promise<void>;
}
