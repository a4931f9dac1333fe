/** O-24: a worker stands still past its lease, another finishes its task, and then the first one wakes up. */
import { openLedger } from "@holdfast/ledger";
import { afterEach, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { openRecoveryBench, type RecoveryBench, type WorkerProcess } from "./recovery-bench.js";

const COUNTING = "n=0; while [ $n -lt 25 ]; do n=$((n+1)); echo $n; sleep 0.2; done";
const COUNTED = Array.from({ length: 25 }, (_, index) => `${index + 1}\n`).join("");

let bench: RecoveryBench;
afterEach(() => bench.close());

async function limitWorkspaceToOne(): Promise<void> {
  const { REDIS_URL = "", HOLDFAST_PREFIX = "" } = bench.env;
  const ledger = await openLedger({ url: REDIS_URL, prefix: HOLDFAST_PREFIX, role: "test" });
  await ledger.hosts.setLimits("workspace", "default", { slots: 1 });
  await ledger.close();
}

/** Looks at who holds capacity until it is stopped; the most tasks seen that were not on their way out. */
function watchRunning() {
  let most = 0;
  const look = async (): Promise<void> => {
    const running = (await bench.client.sandboxes()).filter(({ state }) => state !== "draining");
    most = Math.max(most, running.length);
  };
  const timer = setInterval(() => void look().catch(() => undefined), 100);
  return {
    stop: () => {
      clearInterval(timer);
      return most;
    },
  };
}

/** Whoever holds the one sandbox there is, then the other. */
async function holderFirst(workers: readonly WorkerProcess[]): Promise<[WorkerProcess, WorkerProcess]> {
  const [held] = await bench.client.sandboxes();
  const [a, b] = workers.toSorted((one) => (one.boot_id === held?.boot_id ? -1 : 1));
  if (a === undefined || b === undefined || a.boot_id !== held?.boot_id) throw new Error("no worker holds the sandbox");
  return [a, b];
}

it("O-24: one end, the second worker's; nothing of the first one's counts when it wakes (L2, L3, T1, V1)", async () => {
  bench = await openRecoveryBench({ HOLDFAST_SLOTS: "4" });
  const workers = [await bench.worker(), await bench.worker()];
  await limitWorkspaceToOne();
  const task = await bench.start(COUNTING);
  const [a, b] = await holderFirst(workers);

  await a.signal("SIGSTOP");
  const watch = watchRunning();
  const waiting = await Promise.all(Array.from({ length: 10 }, (_, n) => bench.submit(`echo ${n}`)));
  const outcome = await bench.client.outcome(task);
  const events = await bench.events(task);
  await a.signal("SIGCONT");

  const goesOn = async () => (await a.metric("holdfast_boots_total")) === 2;
  await waitFor(goesOn, { bound_ms: 20_000, what: "the first worker heard that it is DEAD and goes on anew" });
  for (const [n, one] of waiting.entries()) {
    expect(await bench.client.outcome(one)).toMatchObject({ status: "SUCCEEDED", stdout: { text: `${n}\n` } });
  }
  expect(outcome).toMatchObject({ status: "SUCCEEDED", attempt: 2 });
  expect(outcome.stdout.text).toBe(COUNTED);
  expect(await bench.client.outcome(task), "the record is not altered").toEqual(outcome);
  expect(await bench.events(task), "nothing was added or changed").toEqual(events);
  expect(events.filter(({ kind }) => kind === "task_finished")).toHaveLength(1);
  expect(await bench.containersOf(a.boot_id)).toEqual([]);
  expect(await a.metric("holdfast_tasks_total"), "the first worker settled nothing of it").toBeLessThanOrEqual(10);
  expect(await b.metric("holdfast_boots_buried_total")).toBe(1);
  expect(watch.stop(), "never two at once in the workspace").toBe(1);
  await waitFor(async () => (await bench.reserved()) === 0, { bound_ms: 10_000, what: "the used count ends at 0" });
}, 120_000);
