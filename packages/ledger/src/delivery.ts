/** What tasks travel by: the grant a boot runs under, the delivery it came by, and who is woken by what changes. */
import type { BootId, Fence, HostId, OwnerToken, SandboxId, TaskName } from "@holdfast/contract";

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
