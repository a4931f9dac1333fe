/**
 * The ledger: the authority in Redis, changed only by our Lua. One store a noun.
 * Every script is idempotent under re-send: the client may send a command in flight again.
 */
import type {
  AppendBody,
  BootId,
  FleetId,
  HostId,
  HostView,
  Outcome,
  OwnerToken,
  SandboxId,
  SandboxView,
  ScopeKind,
  ScopeLimits,
  ScopeView,
  StreamItem,
  TaskError,
  TaskEvent,
  TaskName,
  TaskRequest,
  TaskStatus,
  TaskView,
  WaitReason,
} from "@holdfast/contract";
import type { Redis } from "ioredis";
import type { BootStore } from "./boot-lives.js";
import type { Delivery, Grant, Promotion } from "./delivery.js";
import type { RetentionStore } from "./retain-step.js";

export type * from "./boot-lives.js";
export type * from "./delivery.js";
export type { RetainStep, RetentionStore } from "./retain-step.js";

export type AcceptReply =
  /** `delivery.job_id` names the job that carries the current delivery. */
  | { readonly kind: "accepted" | "existing"; readonly delivery: Delivery; readonly status: TaskStatus }
  | { readonly kind: "conflict" }
  | { readonly kind: "refused"; readonly error: TaskError };

export type AdmitReply =
  | { readonly kind: "granted"; readonly grant: Grant; readonly request: TaskRequest }
  /** Terminal already; a cancelled one likewise. Outcome without output text. */
  | { readonly kind: "done"; readonly outcome: Outcome; readonly promotions: readonly Promotion[] }
  /** The task runs under a grant of another boot. (The same boot and delivery get their old grant again.) */
  | { readonly kind: "busy" }
  /** Where room was kept for the task on its way, `promotions` name whom that room may serve now. */
  | { readonly kind: "parked"; readonly scope: ScopeKind; readonly promotions: readonly Promotion[] }
  | { readonly kind: "elsewhere"; readonly delivery: Delivery; readonly promotions: readonly Promotion[] }
  /** Not the current delivery, or no such task. */
  | { readonly kind: "stale" }
  /** The boot takes nothing any more, or its host is out of service. */
  | { readonly kind: "draining"; readonly whose: "boot" | "host" }
  | { readonly kind: "closed" }
  /** The boot may not act: its lease ended, it is unknown or DEAD. */
  | { readonly kind: "fenced" };

export type ActivateReply =
  /** `sequence` is that of task_started. */
  { readonly kind: "active"; readonly sequence: number } | { readonly kind: "fenced" | "cancelled" };

export type AppendReply = { readonly kind: "appended"; readonly sequence: number } | { readonly kind: "fenced" };

export type SettleReply =
  | { readonly kind: "settled"; readonly promotions: readonly Promotion[] }
  /** Settled before by this very call (a re-send). */
  | { readonly kind: "already"; readonly promotions: readonly Promotion[] }
  | { readonly kind: "fenced" };

export type RequeueReply =
  | { readonly kind: "requeued"; readonly delivery: Delivery; readonly promotions: readonly Promotion[] }
  /** It was cancelled meanwhile, or its attempts are used up. */
  | { readonly kind: "settled"; readonly outcome: Outcome; readonly promotions: readonly Promotion[] }
  | { readonly kind: "fenced" };

export type ReleaseReply = {
  readonly kind: "released" | "already";
  readonly promotions: readonly Promotion[];
  /** Set where the task was still RUNNING under this token and went back to PENDING. */
  readonly requeued: Delivery | null;
};

export type CancelReply =
  /** Final: nothing is running and nothing will. */
  | { readonly kind: "cancelled"; readonly outcome: Outcome; readonly promotions: readonly Promotion[] }
  | { readonly kind: "requested" }
  | { readonly kind: "finished"; readonly outcome: Outcome }
  | { readonly kind: "unknown" };

export interface AdmitCall extends TaskName {
  readonly boot_id: BootId;
  readonly host_id: HostId;
  readonly delivery: number;
  readonly sandbox_id: SandboxId;
  readonly owner_token: OwnerToken;
}

/** Where a task came from: our own delivery job, or a plain producer's job that holds the request. */
export interface Origin {
  readonly queue: string;
  /** Null where the delivery's job is ours and derived from its name. */
  readonly job_id: string | null;
}

export interface TaskQuery {
  readonly workspace_id: string;
  /** Null from the newest. */
  readonly cursor: string | null;
  /** Most to show. */
  readonly limit: number;
  /** None: any. */
  readonly statuses?: readonly TaskStatus[];
  /** With its tag, or without for every tag. */
  readonly image?: string;
  /** Since it was accepted. */
  readonly age_ms_max?: number;
}

export interface TaskPage {
  readonly tasks: readonly TaskView[];
  readonly looked_at: number;
  /** When the oldest that was looked at was accepted; null where there was none. */
  readonly oldest_at_ms: number | null;
  /** Null where nothing older is left. */
  readonly cursor: string | null;
}

export interface TaskStore {
  /** `request.task_id` must be set. */
  accept(request: TaskRequest, origin: Origin): Promise<AcceptReply>;
  admit(call: AdmitCall): Promise<AdmitReply>;
  /**
   * `sandbox_id` is the one that serves: that of the grant, or a warm one taken in its place. It is recorded before the
   * first user byte; a re-send answers as before.
   */
  activate(grant: Grant, sandbox_id: SandboxId): Promise<ActivateReply>;
  /** `expected_sequence` is the last sequence this grant knows; a re-send never writes twice. */
  append(grant: Grant, expected_sequence: number, bodies: readonly AppendBody[]): Promise<AppendReply>;
  /**
   * Writes the terminal record once; output text goes to a key of its own with its own expiry. `untold` bodies, which
   * tell of drops that no append could store, become events right before task_finished.
   */
  settle(grant: Grant, outcome: Outcome, untold?: readonly AppendBody[]): Promise<SettleReply>;
  /** Hands an attempt back. `counted` attempts count against attempts_max; others end at 10 as ENGINE_UNAVAILABLE. */
  requeue(grant: Grant, reason: string, counted: boolean): Promise<RequeueReply>;
  /** After proof that the sandbox is gone (or was never made). */
  release(grant: Pick<Grant, "workspace_id" | "task_id" | "owner_token" | "boot_id">): Promise<ReleaseReply>;
  cancel(name: TaskName): Promise<CancelReply>;
  /** Registers a job that waits for the task's end; `done` where it ended already. */
  follow(
    name: TaskName,
    queue: string,
    job_id: string,
  ): Promise<{ kind: "waiting" } | { kind: "done"; outcome: Outcome } | { kind: "unknown" }>;
  view(name: TaskName): Promise<TaskView | null>;
  /** The view with the details of why it waits: dearer, for one task that somebody asked for. */
  status(name: TaskName): Promise<TaskView | null>;
  /** With output text where it is still retained. Null where unknown or not terminal. */
  outcome(name: TaskName): Promise<Outcome | null>;
  /** Newest first. One bounded step: go on with the cursor until it is null. */
  list(query: TaskQuery): Promise<TaskPage>;
  /** PENDING tasks whose delivery should be looked at again; each is then not due for a while. */
  dueForHealing(limit: number): Promise<Delivery[]>;
  /** Counts a new delivery if `seen` is still the current one and the task is PENDING. */
  redeliver(seen: Delivery, reason: string): Promise<Delivery | null>;
  /** Ends PENDING tasks whose queue time-out has passed. */
  expireQueued(limit: number): Promise<{ ended: TaskName[]; promotions: Promotion[] }>;
  /** Whether a job of the task that was just put to sleep may go on: it has ended, or would be admitted. */
  look(name: TaskName): Promise<boolean>;
  /** Oldest waiters of each scope that have room now. */
  headsWithRoom(): Promise<Promotion[]>;
}

export type DrainReply =
  | { readonly kind: "done"; readonly promotions: readonly Promotion[] }
  | { readonly kind: "unknown" };

export interface LimitsReply {
  readonly scopes: readonly ScopeView[];
  /** Tasks that wait for want of room, by the scope that lacks it. */
  readonly waiting: Readonly<Record<ScopeKind, number>>;
  /** Where the next step goes on; null at the end. */
  readonly cursor: string | null;
}

export interface HostStore {
  list(): Promise<HostView[]>;
  sandboxes(): Promise<SandboxView[]>;
  /**
   * Takes a host out of service, or back into it: a fact of its record, whichever workers it has. Nothing is granted
   * there while it drains; what runs there goes on. `promotions` are waiters that have room once it serves again.
   */
  setDraining(host_id: HostId, draining: boolean): Promise<DrainReply>;
  /**
   * Sets those named; null in place of a number lifts one, null in place of all lifts every limit. The id of the fleet
   * is not looked at. A limit below what is reserved ends nothing. Answers the waiters that a higher one lets go on.
   * Throws HOST_NOT_FOUND, and INVALID_REQUEST: a host has limits of amounts only, which can be changed, not lifted.
   */
  setLimits(scope: ScopeKind, id: string, limits: ScopeLimits | null): Promise<Promotion[]>;
  /** Limits and use of one scope, also where nothing is set. Throws HOST_NOT_FOUND. */
  limitsOf(scope: ScopeKind, id: string): Promise<ScopeView>;
  /**
   * Limits and use of the fleet, each host, and workspaces that have limits or unfinished tasks: one step through
   * these, of about `workspaces` (0: none). The first step has no cursor and shows fleet and hosts; a workspace may
   * come in two steps.
   */
  limits(workspaces: number, cursor?: string | null): Promise<LimitsReply>;
}

export interface FollowOptions {
  /** Last sequence the reader has; 0 from the start. */
  readonly after: number;
  readonly signal?: AbortSignal;
}

export interface EventStore {
  read(name: TaskName, after: number, limit: number): Promise<TaskEvent[]>;
  /** Ends after the terminal event. Survives reconnects. Throws TASK_NOT_FOUND for an unknown task. */
  follow(name: TaskName, options: FollowOptions): AsyncIterable<StreamItem>;
  /** By pub/sub only; carries no id. */
  heartbeat(name: TaskName): Promise<void>;
}

/** A server's state that Holdfast refuses to start on, and the setting that would accept it. */
export interface ServerProblem {
  readonly problem: "version" | "policy" | "aof";
  readonly message: string;
  readonly setting: string | null;
}

/** Whether Redis has on disk what it has answered (`appendfsync always`), as far as it tells. */
export type TailKept = "kept" | "may_be_lost" | "unknown";

export interface LedgerOptions {
  readonly url: string;
  /** First part of every key; default `holdfast`. */
  readonly prefix?: string;
  /** Shown as the connection's name. */
  readonly role: string;
  /** Producers fail within `fail_fast_ms` when Redis is away instead of waiting for it. */
  readonly fail_fast_ms?: number;
  /** Boot lease; default TIMES.boot_lease_ms. The same in every program of a fleet. */
  readonly lease_ms?: number;
}

export interface FleetReply {
  readonly fleet_id: FleetId;
  readonly schema: number;
  /** 0 where grants are open. */
  readonly grants_open_in_ms: number;
}

export interface Ledger {
  readonly prefix: string;
  readonly tasks: TaskStore;
  readonly boots: BootStore;
  readonly hosts: HostStore;
  readonly events: EventStore;
  readonly retention: RetentionStore;
  /**
   * The fleet recorded in this ledger; records `wanted` (or a drawn one) where there is none yet. Call it first:
   * a ledger that nobody opened grants nothing for one lease. `born` (default: `wanted` is null) says that no host
   * bears a fleet yet, so that an empty ledger cannot be one that lost its records.
   */
  fleet(wanted: FleetId | null, born?: boolean): Promise<FleetReply>;
  /** Marks the ledger as closed cleanly, so that its next start grants at once; false while a boot has not retired. */
  closeCleanly(): Promise<boolean>;
  serverProblems(): Promise<ServerProblem[]>;
  tailKept(): Promise<TailKept>;
  /** True if the server answered within `deadline_ms`. */
  ping(deadline_ms: number): Promise<boolean>;
  /** A connection for BullMQ: no retry limit per request. Closed by close(). */
  connection(role: string): Redis;
  close(): Promise<void>;
}

export type OpenLedger = (options: LedgerOptions) => Promise<Ledger>;

export type { WaitReason };
