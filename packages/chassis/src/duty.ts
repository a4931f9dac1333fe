/** A background loop with a name. Every duty has this one form, so that who has read one has read all. */
import { type Clock, systemClock } from "./clock.js";
import type { Logger } from "./logger.js";
import type { Metrics } from "./metrics.js";

export interface Duty {
  readonly name: string;
  readonly every_ms: number;
  /** After failures the next pass comes later, this many periods at most. Default 8; 1 never waits longer. */
  readonly back_off_periods_max?: number;
  /** One pass. Returns counts of what it did. Never runs twice at once. */
  runOnce(): Promise<Record<string, number>>;
}

export interface RunningDuty {
  /** Asks for a pass as soon as possible; one that is under way is followed by another. */
  poke(): void;
  /** No pass starts any more; resolves when the one under way has ended. */
  stop(): Promise<void>;
}

export interface DutyDeps {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock?: Clock;
}

const BACK_OFF_PERIODS_MAX = 8;

function metersOf(metrics: Metrics) {
  return {
    runs: metrics.counter({
      name: "holdfast_duty_runs_total",
      help: "Passes of a duty by outcome.",
      labels: ["duty", "outcome"],
    }),
    seconds: metrics.histogram({
      name: "holdfast_duty_seconds",
      help: "Duration of one pass of a duty.",
      labels: ["duty"],
    }),
  };
}

/** Runs a duty until it is stopped. An error is logged when it first comes and when it is over, not at each pass. */
export function startDuty(duty: Duty, deps: DutyDeps): RunningDuty {
  const clock = deps.clock ?? systemClock;
  const meters = metersOf(deps.metrics);
  let failures = 0;
  let stopped = false;
  let poked = false;
  let timer: NodeJS.Timeout | undefined;
  let pass: Promise<void> | null = null;

  async function runPass(): Promise<void> {
    const began = clock.monotonicMs();
    try {
      await duty.runOnce();
      if (failures > 0) deps.logger.info("duty_recovered", { duty: duty.name, failures });
      failures = 0;
      meters.runs.add(1, { duty: duty.name, outcome: "ok" });
    } catch (error) {
      failures += 1;
      if (failures === 1) deps.logger.error("duty_failed", { duty: duty.name, error });
      meters.runs.add(1, { duty: duty.name, outcome: "error" });
    }
    meters.seconds.observe((clock.monotonicMs() - began) / 1_000, { duty: duty.name });
  }

  function schedule(delay_ms: number): void {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(begin, delay_ms);
  }

  function begin(): void {
    if (stopped || pass !== null) return;
    clearTimeout(timer);
    poked = false;
    const began = clock.monotonicMs();
    pass = runPass().then(() => {
      pass = null;
      const period = duty.every_ms * Math.min(2 ** failures, duty.back_off_periods_max ?? BACK_OFF_PERIODS_MAX);
      schedule(poked && failures === 0 ? 0 : Math.max(0, period - (clock.monotonicMs() - began)));
    });
  }

  begin();
  return {
    poke: () => {
      poked = true;
      if (pass === null) begin();
    },
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await pass;
    },
  };
}
