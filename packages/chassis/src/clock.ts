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

/** Tells at each look what the clocks did since the one before. */
export function suspendDetector(clock: Clock = systemClock): () => ClockGap {
  const read = () => ({ monotonic: clock.monotonicMs(), wall: clock.wallMs(), boot: clock.bootMs() });
  let last = read();
  return () => {
    const now = read();
    const passed = now.monotonic - last.monotonic;
    const [boot, wall] = [now.boot - last.boot - passed, now.wall - last.wall - passed];
    last = now;
    return { suspended_ms: boot >= GAP_MS_MIN ? boot : 0, jumped: wall >= GAP_MS_MIN || boot >= GAP_MS_MIN };
  };
}
