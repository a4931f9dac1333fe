/** A worker dies without a word (O-23), once or again and again (X26): the fleet goes on, and owes nobody anything. */
import type { Submitted } from "@holdfast/client";
import { afterEach, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { openRecoveryBench, type RecoveryBench, type WorkerProcess } from "./recovery-bench.js";

/** Lease, observation, lost tail, one period of recovery and of the sweep. */
const RECOVERED_MS = 18_000;

let bench: RecoveryBench;
afterEach(() => bench.close());

async function killAndTime(worker: WorkerProcess): Promise<() => number> {
  await worker.signal("SIGKILL");
  const killed = performance.now();
  return () => RECOVERED_MS - (performance.now() - killed);
}

const started = async (task: Submitted) => (await bench.client.status(task)).events >= 2;

it("O-23: within 18 s its containers are gone, its slots free, each task has one end, and who waited runs (T1, T2, E1)", async () => {
  bench = await openRecoveryBench({ HOLDFAST_SLOTS: "3" });
  const a = await bench.worker();
  const last = { attempts_max: 1 };
  const lost = [await bench.start("sleep 300", last), await bench.start("sleep 300", last)];
  const again = await bench.start("sleep 300");
  const b = await bench.worker();
  const waiting = await Promise.all(["1", "2", "3", "4", "5"].map((n) => bench.submit(`echo ${n}`)));
  expect(await bench.containersOf(a.boot_id)).toHaveLength(3);

  const left_ms = await killAndTime(a);

  const gone = async () => (await bench.containersOf(a.boot_id)).length === 0;
  await waitFor(gone, { bound_ms: left_ms(), what: "no container of the dead worker is left, in any state" });
  const runsAgain = async () => {
    const { attempt, host_id, events } = await bench.client.status(again);
    return attempt === 2 && host_id !== null && events >= 4;
  };
  const runs = async () => (await Promise.all([runsAgain(), ...waiting.map(started)])).every(Boolean);
  await waitFor(runs, { bound_ms: left_ms(), what: "every task that waited has started" });
  for (const task of lost) {
    const error = { code: "ATTEMPTS_EXHAUSTED", fault: "platform" };
    expect(await bench.client.outcome(task)).toMatchObject({ status: "FAILED", attempt: 1, error });
  }
  expect(left_ms(), "all of it within the bound").toBeGreaterThan(0);
  await bench.client.cancel(again);
  expect(await bench.client.outcome(again)).toMatchObject({ status: "CANCELLED", ran: true, attempt: 2 });
  for (const task of waiting) {
    expect(await bench.client.outcome(task)).toMatchObject({ status: "SUCCEEDED", attempt: 1 });
  }
  for (const task of [...lost, again, ...waiting]) {
    const kinds = (await bench.events(task)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "task_finished")).toHaveLength(1);
    expect(kinds.at(-1)).toBe("task_finished");
  }
  expect(await b.metric("holdfast_boots_buried_total")).toBe(1);
  expect(await b.metric("holdfast_reservations_freed_total")).toBe(3);
}, 90_000);

it("X26: a task that costs its worker its life again and again is given up, and the fleet is well (T1)", async () => {
  bench = await openRecoveryBench({ HOLDFAST_SLOTS: "2" });
  let worker = await bench.worker();
  const poison = await bench.submit("sleep 300", { attempts_max: 2 });
  for (const attempt of [1, 2]) {
    const runs = async () => {
      const view = await bench.client.status(poison);
      return view.attempt === attempt && (await bench.containersOf(worker.boot_id)).length > 0;
    };
    await waitFor(runs, { bound_ms: 30_000, what: `attempt ${attempt} runs` });
    await worker.signal("SIGKILL");
    worker = await bench.worker();
  }

  const outcome = await bench.client.outcome(poison);

  expect(outcome).toMatchObject({ status: "FAILED", attempt: 2, error: { code: "ATTEMPTS_EXHAUSTED" } });
  expect(outcome.error?.evidence).toMatchObject({ attempts: 2 });
  expect(await bench.client.outcome(await bench.submit("echo well"))).toMatchObject({ status: "SUCCEEDED" });
}, 120_000);
