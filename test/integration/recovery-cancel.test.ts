/** O-25: cancel at every moment, from a process that is not the worker's, while two workers share the work. */
import { randomInt } from "node:crypto";
import type { Submitted } from "@holdfast/client";
import { afterEach, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { openRecoveryBench, type RecoveryBench } from "./recovery-bench.js";

const TASKS = process.env["HOLDFAST_LONG"] === "1" ? 200 : 40;
const AT_ONCE = 8;
const ENDED_MS = 10_000;

let bench: RecoveryBench;
afterEach(() => bench.close());

/** A moment that nobody chose: some are still queued then, some are being made, some run. */
function after(ms: number): Promise<unknown> {
  const end = performance.now() + ms;
  return waitFor(() => performance.now() >= end, { bound_ms: ms + 1_000, what: "a moment", look_ms: 2 });
}

async function submitAndCancel(): Promise<{ task: Submitted; took_ms: number }> {
  const task = await bench.submit("sleep 20");
  const waits = bench.client.outcome(task);
  await after(randomInt(500));
  const asked = performance.now();
  const first = await bench.client.cancel(task);
  expect(["cancelled", "requested"]).toContain(first.kind);
  expect(await waits, "whoever waited hears the end").toMatchObject({ status: "CANCELLED" });
  const took_ms = performance.now() - asked;
  expect(await bench.client.cancel(task), "a second cancel is harmless").toMatchObject({
    kind: "cancelled",
    outcome: { status: "CANCELLED" },
  });
  return { task, took_ms };
}

it(
  `O-25: ${TASKS} tasks cancelled at random moments all end cancelled, once, and leave nothing (T3, Q1)`,
  async () => {
    bench = await openRecoveryBench({ HOLDFAST_SLOTS: "6" });
    await bench.worker();
    await bench.worker();
    const done: { task: Submitted; took_ms: number }[] = [];
    const lane = async (): Promise<void> => {
      for (let n = 0; n < TASKS / AT_ONCE; n += 1) done.push(await submitAndCancel());
    };

    await Promise.all(Array.from({ length: AT_ONCE }, lane));

    expect(done).toHaveLength(TASKS);
    for (const { task, took_ms } of done) {
      expect(took_ms, `${task.task_id} ended in time`).toBeLessThan(ENDED_MS);
      const ends = (await bench.events(task)).filter(({ kind }) => kind === "task_finished");
      expect(ends).toHaveLength(1);
    }
    await waitFor(async () => (await bench.jobs()) === 0, { bound_ms: 10_000, what: "no job is left" });
    await waitFor(async () => (await bench.containers()).length === 0, {
      bound_ms: 20_000,
      what: "no container is left",
    });
  },
  TASKS * 2_500,
);
