/**
 * The ledger: the authority in Redis, changed only by our Lua. One store a noun.
 * Every script is idempotent under re-send: the client may send a command in flight again.
 */
import type {
  Amount,
  AppendBody,
  BootId,
  Fence,
  FleetId,
  HostId,
  HostView,
  ImageOffer,
  Outcome,
  OwnerToken,
  SandboxId,
  SandboxView,
  ScopeKind,
  StreamItem,
  TaskError,
  TaskEvent,
  TaskName,
  TaskRequest,
  TaskView,
  WaitReason,
} from "@holdfast/contract";
import type { Redis } from "ioredis";

/** The right to run and write for one task. */
export interface Grant extends TaskName {
  readonly boot_id: BootId;
  readonly host_id: HostId;
  readonly sandbox_id: SandboxId;
  readonly owner_token: OwnerToken;
  readonly attempt: number;
  readonly generation: number;
  readonly fence: Fence;
  readonly delivery: number;
  /** Redis time in milliseconds. */
  readonly accepted_at_ms: number;
  readonly granted_at_ms: number;
  /** Sequence number of the task's last event. */
  readonly sequence: number;
}

/** A job to be woken: it sleeps as delayed, or waits for its task's end. */
export interface Promotion extends TaskName {
  readonly queue: string;
  readonly job_id: string;
}

/** A delivery that the ledger has counted and that must now get its job. */
export interface Delivery extends TaskName {
  readonly delivery: number;
  readonly queue: string;
  readonly job_id: string;
}

export type AcceptReply =
  /** `delivery.job_id` names the job that carries the current delivery. */
  | { readonly kind: "accepted" | "existing"; readonly delivery: Delivery; readonly view: TaskView }
  | { readonly kind: "conflict" }
  | { readonly kind: "refused"; readonly error: TaskError };

export type AdmitReply =
  | { readonly kind: "granted"; readonly grant: Grant; readonly request: TaskRequest }
  /** Terminal already; a cancelled one likewise. Outcome without output text. */
  | { readonly kind: "done"; readonly outcome: Outcome; readonly promotions: readonly Promotion[] }
  /** The task runs under a grant of another boot. (The same boot and delivery get their old grant again.) */
  | { readonly kind: "busy" }
  | { readonly kind: "parked"; readonly scope: ScopeKind }
  | { readonly kind: "elsewhere"; readonly delivery: Delivery }
  /** Not the current delivery, or no such task. */
  | { readonly kind: "stale" }
  | { readonly kind: "draining" }
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

export interface TaskStore {
  /** `request.task_id` must be set. */
  accept(request: TaskRequest, origin: Origin): Promise<AcceptReply>;
  admit(call: AdmitCall): Promise<AdmitReply>;
  activate(grant: Grant): Promise<ActivateReply>;
  /** `expected_sequence` is the last sequence this grant knows; a re-send never writes twice. */
  append(grant: Grant, expected_sequence: number, bodies: readonly AppendBody[]): Promise<AppendReply>;
  /** Writes the terminal record once; output text goes to a key of its own with its own expiry. */
  settle(grant: Grant, outcome: Outcome): Promise<SettleReply>;
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
  /** With output text where it is still retained. Null where unknown or not terminal. */
  outcome(name: TaskName): Promise<Outcome | null>;
  /** Newest first. */
  list(workspace_id: string, limit: number): Promise<TaskView[]>;
  /** PENDING tasks whose delivery should be looked at again; each is then not due for a while. */
  dueForHealing(limit: number): Promise<Delivery[]>;
  /** Counts a new delivery if `seen` is still the current one and the task is PENDING. */
  redeliver(seen: Delivery, reason: string): Promise<Delivery | null>;
  /** Ends PENDING tasks whose queue time-out has passed. */
  expireQueued(limit: number): Promise<{ ended: TaskName[]; promotions: Promotion[] }>;
  /** Oldest waiters of each scope that have room now. */
  headsWithRoom(): Promise<Promotion[]>;
}

export interface BootRegistration {
  readonly boot_id: BootId;
  readonly host_id: HostId;
  /** Null takes the recorded limits, or `default_limits` for a new host. */
  readonly limits: Amount | null;
  readonly default_limits: Amount;
  readonly images: readonly ImageOffer[];
  readonly runtimes: readonly string[];
  readonly engine_version: string;
  readonly program_version: string;
}

export type RegisterReply =
  | { readonly kind: "registered"; readonly limits: Amount; readonly lease_ms: number }
  | { readonly kind: "limits_differ"; readonly recorded: Amount; readonly offered: Amount }
  | { readonly kind: "image_differs"; readonly image: string; readonly recorded: string; readonly offered: string };

export interface BeatCall {
  readonly boot_id: BootId;
  readonly counter: number;
  /** Every token drawn by the worker and not yet released, from before its admit is sent. */
  readonly held: readonly OwnerToken[];
  readonly fence_seen: Fence | null;
  readonly engine_healthy: boolean;
  /**
   * Sandboxes of this fleet that this worker's engine shows alive and nobody here holds: after a lost tail the host is
   * granted nothing while one of them is unknown to the ledger. Absent where the worker has not looked.
   */
  readonly strange_sandboxes?: readonly SandboxId[];
}

export type BeatReply =
  | {
      readonly kind: "ok";
      readonly lease_ms: number;
      readonly draining: boolean;
      /** Held tokens whose task is to be cancelled. */
      readonly cancelled: readonly OwnerToken[];
      /** Held tokens the ledger does not know. */
      readonly unknown: readonly OwnerToken[];
      /** Tokens of this boot that were absent from two beats. */
      readonly missing: readonly OwnerToken[];
    }
  | { readonly kind: "unknown" }
  | { readonly kind: "dead" };

/** A boot as anybody may look at it. */
export interface BootSight {
  readonly boot_id: BootId;
  readonly host_id: HostId;
  readonly state: "LIVE" | "DRAINING" | "DEAD";
  /** Of its last beat: it stands still while the boot does not act. */
  readonly counter: number;
  /** By Redis's clock; a lease that begins in the future counts as ended. */
  readonly lease_ended: boolean;
  /** Since it was declared DEAD, by Redis's clock (0 where that stepped back); null while it is not. */
  readonly dead_ms: number | null;
  /** Open reservations that name it. */
  readonly reservations: number;
}

export type BuryReply =
  /** DEAD for ever, by this call or before it. */
  | { readonly kind: "buried" | "already"; readonly promotions: readonly Promotion[] }
  /** Its lease stands, or its counter is not the one that was seen: it lives. */
  | { readonly kind: "alive" }
  | { readonly kind: "unknown" };

/** What became of a DEAD boot's tasks in one step; `left` says how many still wait for the next. */
export interface RecoverReply {
  readonly requeued: readonly Delivery[];
  readonly settled: readonly TaskName[];
  readonly promotions: readonly Promotion[];
  readonly left: number;
}

/** By what right a DEAD boot's reservations are freed. */
export type FreeRight =
  /** These sandboxes were proven gone by somebody who serves the boot's engine. */
  | { readonly kind: "proof"; readonly sandbox_ids: readonly SandboxId[] }
  /** The dead-man bound has run on the caller's own clock since it saw DEAD. */
  | { readonly kind: "bound" };

export interface BootStore {
  register(registration: BootRegistration): Promise<RegisterReply>;
  beat(call: BeatCall): Promise<BeatReply>;
  drain(boot_id: BootId): Promise<void>;
  /** `holds` where something is still held: the boot stays. */
  retire(boot_id: BootId): Promise<{ kind: "retired" } | { kind: "holds"; tokens: OwnerToken[] }>;
  /** Every boot with a record, tombstones included. Reads only. */
  look(): Promise<BootSight[]>;
  /** `seen_counter` is the one that stood still for a whole observation on the caller's own clock. */
  bury(boot_id: BootId, seen_counter: number): Promise<BuryReply>;
  /**
   * Takes the RUNNING tasks of a DEAD boot from it: back to PENDING with a new delivery, or settled where they are
   * cancelled or their attempts are used up. Each step is conditional on boot, generation and fence, so that anyone
   * may repeat it; its reservations drain until they are freed. Nothing happens before DEAD is older than the tail
   * that Redis may lose.
   */
  recover(boot_id: BootId, limit: number): Promise<RecoverReply>;
  /**
   * Frees reservations of a DEAD boot; idempotent. One whose task still runs under it stays until that is recovered,
   * and all stay while DEAD is younger than the tail that Redis may lose. `left` counts what stays.
   */
  free(boot_id: BootId, right: FreeRight): Promise<{ promotions: Promotion[]; left: number }>;
  /**
   * PENDING tasks whose route is the boot's own queue get a new delivery on the queue they came by (the shared one),
   * where that boot takes nothing any more: it is DEAD and older than the tail, drains, or its engine is sick.
   */
  reroute(boot_id: BootId, limit: number): Promise<Delivery[]>;
  /** Calls back when a doorbell rings: a cancel was flagged, or the boot is to drain. Returns how to stop. */
  onBell(boot_id: BootId, ring: () => void): Promise<() => Promise<void>>;
}

export interface HostStore {
  list(): Promise<HostView[]>;
  sandboxes(): Promise<SandboxView[]>;
  setLimits(scope: ScopeKind, id: string, limits: Partial<Amount> | null): Promise<void>;
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
  /**
   * The fleet recorded in this ledger; records `wanted` (or a drawn one) where there is none yet. Call it first:
   * a ledger that nobody opened grants nothing for one lease. `born` (default: `wanted` is null) says that no host
   * bears a fleet yet, so that an empty ledger cannot be one that lost its records.
   */
  fleet(wanted: FleetId | null, born?: boolean): Promise<FleetReply>;
  /** Marks the ledger as closed cleanly, so that its next start grants at once; false while a boot has not retired. */
  closeCleanly(): Promise<boolean>;
  serverProblems(): Promise<ServerProblem[]>;
  /** True if the server answered within `deadline_ms`. */
  ping(deadline_ms: number): Promise<boolean>;
  /** A connection for BullMQ: no retry limit per request. Closed by close(). */
  connection(role: string): Redis;
  close(): Promise<void>;
}

export type OpenLedger = (options: LedgerOptions) => Promise<Ledger>;

export type { WaitReason };
