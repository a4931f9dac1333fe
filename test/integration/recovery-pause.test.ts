/** O-24: a worker stands still past its lease, another finishes its task, and then the first one wakes up. */
import { afterEach, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { openRecoveryBench, type RecoveryBench, type WorkerProcess } from "./recovery-bench.js";

const COUNTING = "n=0; while [ $n -lt 25 ]; do n=$((n+1)); echo $n; sleep 0.2; done";
const COUNTED = Array.from({ length: 25 }, (_, index) => `${index + 1}\n`).join("");

let bench: RecoveryBench;
afterEach(() => bench.close());

async function usedSlots(): Promise<number> {
  const scopes = await bench.client.limits();
  return scopes.find(({ scope, id }) => scope === "workspace" && id === "default")?.used.slots ?? Number.NaN;
}

/** Looks at who holds capacity until it is stopped: the most that was seen, and each count of the workspace. */
function watchRunning() {
  let most = 0;
  const counts = new Set<number>();
  const look = async (): Promise<void> => {
    const running = (await bench.client.sandboxes()).filter(({ state }) => state !== "draining");
    most = Math.max(most, running.length);
    counts.add(await usedSlots());
  };
  const timer = setInterval(() => void look().catch(() => undefined), 100);
  return {
    stop: () => {
      clearInterval(timer);
      return { most, counts: [...counts].toSorted() };
    },
  };
}

function workerOf(workers: readonly WorkerProcess[], is: (boot_id: string) => boolean): WorkerProcess {
  const found = workers.find(({ boot_id }) => is(boot_id));
  if (found === undefined) throw new Error("no such worker");
  return found;
}

it("O-24: one end, the second worker's; nothing of the first one's counts when it wakes (L2, L3, T1, V1)", async () => {
  bench = await openRecoveryBench({ HOLDFAST_SLOTS: "4" });
  const workers = [await bench.worker(), await bench.worker()];
  await bench.client.setLimits({ scope: "workspace", id: "default" }, { slots: 1 });
  const task = await bench.start(COUNTING);
  const [held] = await bench.client.sandboxes();
  const a = workerOf(workers, (boot_id) => boot_id === held?.boot_id);
  const b = workerOf(workers, (boot_id) => boot_id !== held?.boot_id);

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
  await waitFor(async () => (await bench.reserved()) === 0, { bound_ms: 10_000, what: "all capacity is free" });
  await waitFor(async () => (await usedSlots()) === 0, { bound_ms: 10_000, what: "the used count ends at 0" });
  const { most, counts } = watch.stop();
  expect(most, "never two at once in the workspace").toBe(1);
  expect([0, 1], "and its count is never another").toEqual(expect.arrayContaining(counts));
}, 120_000);
