import { monotonicMs } from "@holdfast/chassis";
import type { Lease } from "../boot/lease.js";

/** The permission to live that a sandbox is given at each pulse, and until when the last one reaches. */
export interface Permission {
  ask(): number;
  /** Monotonic milliseconds: a sandbox nobody hears from is dead by then (E4). */
  endsAtMs(): number;
}

export function createPermission(lease: Pick<Lease, "permissionMs">): Permission {
  let ends_at_ms = 0;
  return {
    ask: () => {
      const left = lease.permissionMs();
      ends_at_ms = Math.max(ends_at_ms, monotonicMs() + left);
      return left;
    },
    endsAtMs: () => ends_at_ms,
  };
}
