/**
 * One boot's right to act, on this worker's own clock (L3). The ledger's clock is never asked: a span is counted from
 * before the beat was sent, so the worker's lease always ends before the ledger's.
 */
import { type Clock, suspendDetector, systemClock } from "@holdfast/chassis";
import { TIMES } from "@holdfast/contract";

export interface Lease {
  /** Boot-time milliseconds: taken just before a beat is sent. */
  now(): number;
  /** A beat that was sent at `sent_at_ms` of now() was answered with `lease_ms`. Never shortens the lease. */
  renewed(sent_at_ms: number, lease_ms: number): void;
  /** True while this worker may write and take tasks. */
  mayAct(): boolean;
  /** Milliseconds until mayAct() turns false. */
  leftMs(): number;
  /** Milliseconds a sandbox without egress may still live: what is left of the lease and the outage grace. */
  permissionMs(): number;
  /** The ledger refused a call: nothing is done until the next beat is answered. */
  suspend(): void;
  /** The boot is unknown, DEAD or retired: it may never act again. */
  revoke(): void;
  readonly revoked: boolean;
  /** Resolves true when it may act, false when it never may again. */
  whenMayAct(): Promise<boolean>;
  /** Resolves when the boot may never act again. */
  readonly whenRevoked: Promise<void>;
}

export interface LeaseOptions {
  readonly clock?: Clock;
  readonly margin_ms?: number;
  readonly outage_grace_ms?: number;
}

export function createLease(options: LeaseOptions = {}): Lease {
  const clock = options.clock ?? systemClock;
  const margin_ms = options.margin_ms ?? TIMES.own_margin_ms;
  const grace_ms = options.outage_grace_ms ?? TIMES.outage_grace_ms;
  const lookAtClocks = suspendDetector(clock);
  const waiting = new Set<() => void>();
  let own_end_ms = Number.NEGATIVE_INFINITY;
  let permission_end_ms = Number.NEGATIVE_INFINITY;
  let suspended_ms = 0;
  let revoked = false;
  let tellRevoked: () => void = () => {};
  const whenRevoked = new Promise<void>((resolve) => {
    tellRevoked = resolve;
  });

  /** Boot time. A suspend ends the lease, and so does whatever looks like one; a clock that was set does no more. */
  function look(): number {
    const gap = lookAtClocks();
    suspended_ms += gap.suspended_ms;
    const now = clock.monotonicMs() + suspended_ms;
    if (gap.jumped) own_end_ms = Math.min(own_end_ms, now);
    return now;
  }

  function leftMs(): number {
    const now = look();
    return revoked ? 0 : Math.max(0, own_end_ms - now);
  }
  const mayAct = (): boolean => leftMs() > 0;

  function wake(): void {
    for (const resolve of waiting) resolve();
    waiting.clear();
  }

  return {
    now: look,
    renewed: (sent_at_ms, lease_ms) => {
      if (revoked) return;
      look();
      own_end_ms = Math.max(own_end_ms, sent_at_ms + lease_ms - margin_ms);
      permission_end_ms = Math.max(permission_end_ms, sent_at_ms + lease_ms + grace_ms);
      wake();
    },
    mayAct,
    leftMs,
    permissionMs: () => {
      const now = look();
      return revoked ? 0 : Math.max(0, Math.floor(permission_end_ms - now));
    },
    suspend: () => {
      own_end_ms = Math.min(own_end_ms, look());
    },
    revoke: () => {
      revoked = true;
      tellRevoked();
      wake();
    },
    get revoked() {
      return revoked;
    },
    whenMayAct: async () => {
      while (!revoked && !mayAct()) await new Promise<void>((resolve) => waiting.add(resolve));
      return !revoked;
    },
    whenRevoked,
  };
}
