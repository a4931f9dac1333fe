import { uptime } from "node:os";

/** Monotonic milliseconds of this process. Stands still while the host is suspended. */
export function monotonicMs(): number {
  return performance.now();
}

/** What a span needs to be measured: the clocks whose differences tell a suspend from a slow loop. */
export interface Clock {
  monotonicMs(): number;
  wallMs(): number;
  /** Runs on while the host is suspended, and is not set by anybody. */
  bootMs(): number;
}

export const systemClock: Clock = { monotonicMs, wallMs: () => Date.now(), bootMs: () => uptime() * 1_000 };

/** Below this a difference between the clocks is drift or rounding. */
const GAP_MS_MIN = 1_000;

export interface ClockGap {
  /** How long the host was suspended since the last look; 0 where it was not. */
  readonly suspended_ms: number;
  /**
   * The wall clock ran ahead of the monotonic one. That is a suspend, a machine that stood still as a whole, or a clock
   * that was set: the span since the last look cannot be trusted, but it need not have been longer.
   */
  readonly jumped: boolean;
}

/** A read of the boot clock is a read of a file: without a sign of a suspend it is asked this often at most. */
const BOOT_LOOK_MS = 100;

/** Tells at each look what the clocks did since the one before. */
export function suspendDetector(clock: Clock = systemClock): () => ClockGap {
  const read = () => ({ monotonic: clock.monotonicMs(), boot: clock.bootMs() });
  let last_wall_ahead = clock.wallMs() - clock.monotonicMs();
  let last = read();

  /** How far the boot clock ran ahead of the monotonic one since it was asked before. */
  function suspendedMs(): number {
    const now = read();
    const gap = now.boot - last.boot - (now.monotonic - last.monotonic);
    last = now;
    return gap >= GAP_MS_MIN ? gap : 0;
  }

  return () => {
    const monotonic = clock.monotonicMs();
    const wall_ahead = clock.wallMs() - monotonic;
    const wall_gap = wall_ahead - last_wall_ahead;
    last_wall_ahead = wall_ahead;
    const asks = Math.abs(wall_gap) >= GAP_MS_MIN || monotonic - last.monotonic >= BOOT_LOOK_MS;
    const suspended_ms = asks ? suspendedMs() : 0;
    return { suspended_ms, jumped: wall_gap >= GAP_MS_MIN || suspended_ms > 0 };
  };
}
