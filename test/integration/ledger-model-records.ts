/** The records of the model: what the ledger should know of hosts, boots, grants and tasks. */
import type { HostId, OwnerToken, SandboxId, ScopeKind, Slice, StrangeSandbox, TaskName } from "@holdfast/contract";
import type { AdmitCall, Grant } from "@holdfast/ledger";
import type { Worker } from "./ledger-fixture.js";

export interface ModelHost {
  readonly host_id: HostId;
  slots: number;
  cpu_milli: number;
  readonly memory_mb: number;
  healthy: boolean;
  draining: boolean;
  /** When a task last wanted the room of its pools back. */
  wanted_back_ms: number | null;
}

/** Of a workspace or the fleet; what is not named is unlimited. */
export type ModelLimits = Partial<Record<"slots" | "cpu_milli" | "queued" | "pending_bytes", number>>;

export interface ModelBoot {
  readonly worker: Worker;
  readonly host: ModelHost;
  state: "LIVE" | "DRAINING" | "DEAD";
  lease_ends_ms: number;
  counter: number;
  readonly missed: Map<string, number>;
  dead_ms: number;
  /** Not heard since a crash: past its own lease, so that it takes nothing before its next beat. */
  silent: boolean;
  /** Whether it said last that the checks of its host hold. */
  fit: boolean;
  slice: Slice;
  /** What it said last of strangers: null where it has not looked in this life. */
  look: { readonly run: number; readonly unknown: readonly SandboxId[]; readonly strangers: number } | null;
}

export interface ModelGrant {
  readonly grant: Grant;
  readonly boot: ModelBoot;
  readonly task: ModelTask;
  open: boolean;
  active: boolean;
  /** Taken from the boot's pool in place of the sandbox that admit named. */
  warm: SandboxId | null;
  gave_back: "requeued" | "settled" | null;
}

export interface ModelTask {
  readonly name: TaskName;
  readonly member: string;
  readonly cpu_milli: number;
  readonly body_bytes: number;
  readonly attempts_max: number;
  readonly accepted_ms: number;
  status: string;
  delivery: number;
  attempt: number;
  counted: number;
  hand_backs: number;
  cancelled: boolean;
  /** A caller was told that it is cancelled for good. */
  told_cancelled: boolean;
  held: boolean;
  wait_scope: ScopeKind | null;
  /** The boot whose own queue its delivery was sent to. */
  route: ModelBoot | null;
  moved: { readonly by: OwnerToken; readonly as: number } | null;
  deadline_ms: number;
  sequence: number;
  started: number;
  current: ModelGrant | null;
  ended_by: ModelGrant | null;
  record: string | null;
}

/** An admit as it was sent: a copy of it may come at any time. */
export interface SentAdmit {
  readonly call: AdmitCall;
  readonly member: string;
  readonly boot: ModelBoot;
}

/** As the engine shows what serves, or is to serve, a grant. */
export function sandboxOf({ grant, warm }: ModelGrant): StrangeSandbox {
  if (warm === null) return { sandbox_id: grant.sandbox_id, pool_of: null };
  return { sandbox_id: warm, pool_of: grant.boot_id };
}

export function holdsSlice({ slice }: ModelBoot): boolean {
  return slice.memory_mb + slice.pids > 0;
}
