/** A worker dies that serves a task warm and keeps a member waiting: all of it is proven gone and given back (C2). */
import { afterEach, expect, it } from "vitest";
import { SHELL_IMAGE } from "../support/fleet.js";
import { waitFor } from "../support/wait-for.js";
import { openRecoveryBench, type RecoveryBench } from "./recovery-bench.js";

/** Lease, observation, lost tail, one period of recovery and of the sweep. */
const RECOVERED_MS = 18_000;
const TINY = { cpu: 0.5, memory_mb: 64, disk_mb: 256, pids_limit: 128 };
const NOTHING = { memory_mb: 0, pids: 0 };

let bench: RecoveryBench;
afterEach(() => bench.close());

const ready = async () => {
  const boots = (await bench.client.hosts()).flatMap((host) => host.boots);
  return boots.some(({ pool }) => pool.some((key) => key.ready === 1));
};

it("of a killed worker no member, no slice and no reservation is left within 18 s (C2, E1, T1)", async () => {
  bench = await openRecoveryBench({ HOLDFAST_SLOTS: "1", HOLDFAST_POOL: "0" });
  const a = await bench.worker({ HOLDFAST_POOL_KEYS: `${SHELL_IMAGE}:0.5:64` });
  await waitFor(ready, { bound_ms: 20_000, what: "a member is ready" });
  const [member] = await bench.containersOf(a.boot_id);
  const task = await bench.start("sleep 300", { resources: TINY, attempts_max: 1 });
  const served = (await bench.client.sandboxes()).map(({ sandbox_id, assigned }) => [sandbox_id, assigned]);
  expect(served).toEqual([[member?.labels["holdfast.sandbox"], true]]);
  const refilled = async () => (await bench.containersOf(a.boot_id)).length === 2;
  await waitFor(refilled, { bound_ms: 20_000, what: "another member in its place" });
  const b = await bench.worker();

  await a.signal("SIGKILL");

  const gone = async () => {
    const [host] = await bench.client.hosts();
    const left = await bench.containersOf(a.boot_id);
    return left.length === 0 && host?.pool_reserved.memory_mb === 0 && host.reserved.slots === 0;
  };
  await waitFor(gone, { bound_ms: RECOVERED_MS, what: "nothing of it is left, in the engine or in the ledger" });
  const error = { code: "ATTEMPTS_EXHAUSTED", fault: "platform" };
  expect(await bench.client.outcome(task)).toMatchObject({ status: "FAILED", attempt: 1, error });
  expect((await bench.client.hosts())[0]).toMatchObject({ pool_reserved: NOTHING, reserved: { ...NOTHING, slots: 0 } });
  expect(await b.metric("holdfast_reservations_freed_total")).toBe(1);
}, 120_000);
