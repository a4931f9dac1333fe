/** Two workers with pools on one engine, each killed in turn under load: no task is lost, no member stays. */
import { afterEach, expect, it } from "vitest";
import { SHELL_IMAGE } from "../support/fleet.js";
import { waitFor } from "../support/wait-for.js";
import { openRecoveryBench, type RecoveryBench, type WorkerProcess } from "./recovery-bench.js";

const RESOURCES = { cpu: 0.25, memory_mb: 64 };
const ROUNDS = process.env["HOLDFAST_LONG"] === "1" ? 10 : 1;
const TASKS = 8;

let bench: RecoveryBench;
afterEach(() => bench.close());

async function poolOf({ boot_id }: WorkerProcess): Promise<number> {
  const boots = (await bench.client.hosts()).flatMap((host) => host.boots);
  return boots.find((boot) => boot.boot_id === boot_id)?.pool.reduce((sum, { ready }) => sum + ready, 0) ?? 0;
}

it("each death costs attempts at most: every task ends once, slices and members of the dead are gone (T1, T2, E1, C2)", async () => {
  const kind = `${SHELL_IMAGE}:0.25:64`;
  bench = await openRecoveryBench({ HOLDFAST_POOL_KEYS: `${kind},${kind}`, HOLDFAST_SLOTS: "4" });
  let workers = [await bench.worker(), await bench.worker()];
  let warm = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const [victim, other] = workers;
    if (victim === undefined || other === undefined) throw new Error("two workers run");
    const full = async () => (await poolOf(victim)) === 2 && (await poolOf(other)) === 2;
    await waitFor(full, { bound_ms: 60_000, what: "both pools are full" });

    const tasks = await Promise.all(
      Array.from({ length: TASKS }, (_, n) => bench.submit(`sleep 1; echo ${n}`, { resources: RESOURCES })),
    );
    const begun = async () => (await bench.client.status(tasks[0] ?? { task_id: "none" })).events >= 2;
    await waitFor(begun, { bound_ms: 20_000, what: "the first one runs" });
    await victim.signal("SIGKILL");

    const outcomes = await Promise.all(tasks.map((task) => bench.client.outcome(task)));
    expect(outcomes.map(({ status, stdout }) => [status, stdout.text])).toEqual(
      tasks.map((_, n) => ["SUCCEEDED", `${n}\n`]),
    );
    warm += outcomes.filter((outcome) => outcome.warm).length;
    const gone = async () => (await bench.containersOf(victim.boot_id)).length === 0;
    await waitFor(gone, { bound_ms: 30_000, what: "no container of the dead worker is left" });
    const slice = async () =>
      (await bench.client.hosts())
        .flatMap((host) => host.boots)
        .every((boot) => boot.boot_id !== victim.boot_id || boot.slice.memory_mb === 0);
    await waitFor(slice, { bound_ms: 30_000, what: "its slice is given back" });
    workers = [other, await bench.worker()];
  }
  expect(warm).toBeGreaterThan(0);
}, 300_000);
