/** Monotonic milliseconds of this process. Stands still while the host is suspended. */
export function monotonicMs(): number {
  return performance.now();
}

/** What a span needs to be measured: both clocks, so that a suspend can be told from a slow loop. */
export interface Clock {
  monotonicMs(): number;
  wallMs(): number;
}

export const systemClock: Clock = { monotonicMs, wallMs: () => Date.now() };

/** Below this a difference between the clocks is drift or a step of NTP, not a suspend. */
const SUSPEND_GAP_MS = 1_000;

/**
 * Tells how many milliseconds the wall clock ran ahead of the monotonic one since the last look, where that is long
 * enough to be a suspend; else 0. A wall clock that jumped forward looks the same, and is treated the same: it is the
 * safe side, since the span since the last look cannot be trusted.
 */
export function suspendDetector(clock: Clock = systemClock): () => number {
  let monotonic = clock.monotonicMs();
  let wall = clock.wallMs();
  return () => {
    const [nowMonotonic, nowWall] = [clock.monotonicMs(), clock.wallMs()];
    const gap = nowWall - wall - (nowMonotonic - monotonic);
    monotonic = nowMonotonic;
    wall = nowWall;
    return gap >= SUSPEND_GAP_MS ? gap : 0;
  };
}
