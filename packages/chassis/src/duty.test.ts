import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { startDuty } from "./duty.js";
import { createLogger } from "./logger.js";
import { createMetrics } from "./metrics.js";

/** The loop itself is the one thing tested with a ticking clock, and that clock is turned by hand. */
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function setup(runOnce: () => Promise<Record<string, number>>) {
  const events: string[] = [];
  const destination = { write: (line: string) => void events.push(JSON.parse(line).event) };
  const metrics = createMetrics();
  const clock = { monotonicMs: () => Date.now(), wallMs: () => Date.now(), bootMs: () => Date.now() };
  const logger = createLogger({ name: "test", destination });
  return { events, metrics, duty: startDuty({ name: "sweep", every_ms: 1_000, runOnce }, { logger, metrics, clock }) };
}

describe("startDuty", () => {
  test("passes never overlap, and a poke during a pass asks for another", async () => {
    const open: (() => void)[] = [];
    const { duty } = setup(() => new Promise((resolve) => open.push(() => resolve({}))));

    await vi.advanceTimersByTimeAsync(5_000);
    expect(open).toHaveLength(1);
    duty.poke();
    duty.poke();
    open[0]?.();
    await vi.advanceTimersByTimeAsync(1);

    expect(open).toHaveLength(2);
    open[1]?.();
    await duty.stop();
  });

  test("logs an error once while it lasts, backs off, and tells when it is over", async () => {
    let broken = true;
    let passes = 0;
    const { duty, events, metrics } = setup(async () => {
      passes += 1;
      if (broken) throw new Error("away");
      return {};
    });

    await vi.advanceTimersByTimeAsync(6_500);
    expect(passes).toBe(3);
    expect(events).toEqual(["duty_failed"]);
    broken = false;
    await vi.advanceTimersByTimeAsync(10_000);

    expect(events).toEqual(["duty_failed", "duty_recovered"]);
    expect(await metrics.text()).toContain('holdfast_duty_runs_total{duty="sweep",outcome="error"} 3');
    await duty.stop();
  });

  test("stop waits for the pass under way and starts none after it", async () => {
    const open: (() => void)[] = [];
    const { duty } = setup(() => new Promise((resolve) => open.push(() => resolve({}))));
    let stopped = false;

    const stopping = duty.stop().then(() => {
      stopped = true;
    });
    await vi.advanceTimersByTimeAsync(10);
    expect(stopped).toBe(false);
    open[0]?.();
    await stopping;
    duty.poke();
    await vi.advanceTimersByTimeAsync(5_000);

    expect(open).toHaveLength(1);
  });
});
