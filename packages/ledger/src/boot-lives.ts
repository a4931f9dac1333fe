/** Lives of boots: registration, beats, and death with what comes after it (design.md §3). */
import type {
  Amount,
  BootId,
  Fence,
  HostId,
  ImageOffer,
  OwnerToken,
  PoolKeyView,
  RefusedImage,
  SandboxId,
  Slice,
  StrangeSandbox,
  TaskName,
} from "@holdfast/contract";
import type { Delivery, Promotion } from "./delivery.js";

export interface BootRegistration {
  readonly boot_id: BootId;
  readonly host_id: HostId;
  /** Null takes the recorded limits, or `default_limits` for a new host. */
  readonly limits: Amount | null;
  readonly default_limits: Amount;
  readonly images: readonly ImageOffer[];
  /** Those that are allowed and not offered: told to operators, of no effect. */
  readonly refused_images?: readonly RefusedImage[];
  readonly runtimes: readonly string[];
  readonly engine_version: string;
  readonly program_version: string;
}

export type RegisterReply =
  | {
      readonly kind: "registered";
      readonly limits: Amount;
      readonly lease_ms: number;
      /** Waiters that have room on this host now. */
      readonly promotions: readonly Promotion[];
    }
  | { readonly kind: "limits_differ"; readonly recorded: Amount; readonly offered: Amount }
  | { readonly kind: "image_differs"; readonly image: string; readonly recorded: string; readonly offered: string };

export interface BeatCall {
  readonly boot_id: BootId;
  readonly counter: number;
  /** Every token drawn by the worker and not yet released, from before its admit is sent. */
  readonly held: readonly OwnerToken[];
  readonly fence_seen: Fence | null;
  readonly engine_healthy: boolean;
  /** Checks of its host that failed, by name: while there is one, this boot takes no task. Absent: none. */
  readonly failed_checks?: readonly string[];
  /**
   * Sandboxes of this fleet that this worker's engine shows alive and nobody here holds: after a lost tail the host is
   * granted nothing while one of them is unknown to the ledger. Absent where the worker has not looked.
   */
  readonly strange_sandboxes?: readonly StrangeSandbox[];
}

export type BeatReply =
  | {
      readonly kind: "ok";
      readonly lease_ms: number;
      /** The boot itself is to take nothing more, for good. */
      readonly draining: boolean;
      /** Its host is out of service, until that is taken back. */
      readonly host_draining: boolean;
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
  /** Since it was declared DEAD, by Redis's clock; a step back of that begins it anew. Null while it is not. */
  readonly dead_ms: number | null;
  /** Open reservations that name it. */
  readonly reservations: number;
  /** Its pool's slice is more than nothing. */
  readonly holds_slice: boolean;
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
  /**
   * These sandboxes were proven gone by somebody who serves the boot's engine; `all_gone` where nothing at all that the
   * boot made is left there, which is the proof for its pool's slice.
   */
  | { readonly kind: "proof"; readonly sandbox_ids: readonly SandboxId[]; readonly all_gone: boolean }
  /** The dead-man bound has run on the caller's own clock since it saw DEAD. */
  | { readonly kind: "bound" };

export interface FreeReply {
  readonly promotions: readonly Promotion[];
  /** Reservations that stay. */
  readonly left: number;
  /** By this call. */
  readonly slice_freed: boolean;
}

export interface SliceCall extends Slice {
  readonly boot_id: BootId;
  /** For show, in the order of importance: what goes beyond BOUNDS.pool_report_bytes_max is left out. */
  readonly report: readonly PoolKeyView[];
}

export type SliceReply =
  | (Slice & {
      /** The slice as it stands now, which is the old one where the new one did not fit. */
      readonly kind: "set";
      /** A task waits for the room that pools of this host hold: give it back, ask for none while this is said. */
      readonly yield: boolean;
      /** Waiters that have room by what was given back. */
      readonly promotions: readonly Promotion[];
    })
  /** The boot is unknown or DEAD. */
  | { readonly kind: "fenced" };

export interface BootStore {
  register(registration: BootRegistration): Promise<RegisterReply>;
  beat(call: BeatCall): Promise<BeatReply>;
  drain(boot_id: BootId): Promise<void>;
  /**
   * Sets what the boot's pool reserves of its host for members that wait; sandboxMemoryMb and PIDS_OVERHEAD say what
   * one takes. It may always shrink. It grows, all of it or nothing, where the boot is LIVE, its lease stands, its host
   * serves and is granted tasks and has the room, and no task waits for it or wants it back.
   */
  setSlice(call: SliceCall): Promise<SliceReply>;
  /** `holds` where something is still held, tokens or a slice: the boot stays. */
  retire(boot_id: BootId): Promise<{ kind: "retired" } | { kind: "holds"; tokens: OwnerToken[] }>;
  /** Every boot with a record, tombstones included. */
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
   * Frees reservations and the slice of a DEAD boot; idempotent. A reservation whose task still runs under it stays
   * until that is recovered, and all stay while DEAD is younger than the tail that Redis may lose.
   */
  free(boot_id: BootId, right: FreeRight): Promise<FreeReply>;
  /**
   * PENDING tasks whose route is the boot's own queue get a new delivery on the queue they came by (the shared one),
   * where that boot takes nothing any more: it is DEAD and older than the tail, drains, fails its checks, or its host
   * drains or has a sick engine.
   */
  reroute(boot_id: BootId, limit: number): Promise<Delivery[]>;
  /** Calls back when a doorbell rings: a cancel was flagged, the boot drains, or its host does or does so no more. */
  onBell(boot_id: BootId, ring: () => void): Promise<() => Promise<void>>;
}
