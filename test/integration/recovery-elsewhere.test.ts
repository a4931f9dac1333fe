/** Another host's boot: tasks are sent to it and by it, come back when it dies, and its capacity waits for proof. */
import { drawTaskId, parseTaskRequest, type TaskRequestInput } from "@holdfast/contract";
import { bootQueue, type Ledger, openLedger } from "@holdfast/ledger";
import { openTaskQueue, type TaskQueue } from "@holdfast/queue";
import { afterEach, beforeEach, expect, it } from "vitest";
import { SHELL_IMAGE } from "../support/fleet.js";
import { type LedgerHost, openLedgerHost } from "../support/ledger-host.js";
import { waitFor } from "../support/wait-for.js";
import { openRecoveryBench, type RecoveryBench, type WorkerProcess } from "./recovery-bench.js";

/** A host with room for one of the tasks here, but not for two. */
const NARROW_MB = 1_000;
/** Lease, observation, lost tail, one period of recovery, and what a busy machine takes. */
const RECOVERED_MS = 18_000;

let bench: RecoveryBench;
let worker: WorkerProcess;
let ledger: Ledger;
let queue: TaskQueue;
let other: LedgerHost | undefined;

beforeEach(async () => {
  bench = await openRecoveryBench({ HOLDFAST_SLOTS: "4", HOLDFAST_MEMORY_MB: String(NARROW_MB) });
  worker = await bench.worker();
  const { REDIS_URL = "", HOLDFAST_PREFIX = "", HOLDFAST_QUEUE_PREFIX = "" } = bench.env;
  ledger = await openLedger({ url: REDIS_URL, prefix: HOLDFAST_PREFIX, role: "test" });
  queue = openTaskQueue({ ledger, prefix: HOLDFAST_QUEUE_PREFIX });
  const open = async () => (await ledger.fleet(bench.fleet_id)).grants_open_in_ms === 0;
  await waitFor(open, { bound_ms: 12_000, what: "a ledger that is not known to be new has opened its grants" });
});
afterEach(async () => {
  other?.die();
  await queue.close();
  await ledger.close();
  await bench.close();
});

async function otherHost(memory_mb: number): Promise<LedgerHost> {
  other = await openLedgerHost(ledger, memory_mb);
  return other;
}

/** Accepted by the ledger, but on no queue: nobody but the test brings it to admit at first. */
async function acceptQuietly(line: string) {
  const input: TaskRequestInput = { image: SHELL_IMAGE, command: ["sh", "-c", line], task_id: drawTaskId() };
  const parsed = parseTaskRequest(input);
  if (parsed.kind === "refused") throw new Error("the request of this test is not valid");
  const reply = await ledger.tasks.accept(parsed.request, { queue: "tasks", job_id: null });
  if (reply.kind !== "accepted") throw new Error(`accept answered ${reply.kind}`);
  const { workspace_id, task_id } = reply.delivery;
  return { workspace_id, task_id, delivery: 1 };
}

it("a task that another host has no room for is run from the queue of the boot that it was sent to (C1, T2)", async () => {
  const task = await acceptQuietly("echo here");
  const reply = await (await otherHost(100)).admit(task);
  if (reply.kind !== "elsewhere") throw new Error(`admit answered ${reply.kind}`);
  expect(reply.delivery).toMatchObject({ delivery: 2, queue: bootQueue(worker.boot_id) });

  await queue.deliver(reply.delivery);

  expect(await bench.client.outcome(task)).toMatchObject({
    status: "SUCCEEDED",
    attempt: 1,
    stdout: { text: "here\n" },
  });
  expect(await bench.client.status(task)).toMatchObject({ delivery: 2 });
});

it("a task that was sent to a boot which dies comes back by the ledger's route, and the boot's queue is gone (T2)", async () => {
  await bench.start("sleep 20");
  const host = await otherHost(NARROW_MB);
  const task = await bench.submit("echo back");
  const sent = async () => (await queue.counts(bootQueue(host.boot_id))).waiting === 1;
  await waitFor(sent, { bound_ms: 10_000, what: "the full worker has sent it to the host with room" });

  host.die();

  const back = async () => (await bench.client.status(task)).delivery === 3;
  await waitFor(back, { bound_ms: RECOVERED_MS, what: "it has a delivery on the shared queue" });
  const removed = async () => {
    const { waiting, active, parked } = await queue.counts(bootQueue(host.boot_id));
    return waiting + active + parked === 0;
  };
  await waitFor(removed, { bound_ms: 5_000, what: "the dead boot's queue is gone" });
  expect(await bench.client.outcome(task)).toMatchObject({ status: "SUCCEEDED", attempt: 1 });
}, 90_000);

it("a task of a host that is gone goes on at once; what it held there is not free before proof or bound (C2)", async () => {
  const host = await otherHost(NARROW_MB);
  const task = await acceptQuietly("echo again");
  const reply = await host.admit(task);
  if (reply.kind !== "granted") throw new Error(`admit answered ${reply.kind}`);

  host.die();
  const died = performance.now();

  expect(await bench.client.outcome(task)).toMatchObject({ status: "SUCCEEDED", attempt: 2 });
  expect(performance.now() - died).toBeLessThan(RECOVERED_MS);
  const there = (await bench.client.hosts()).find(({ host_id }) => host_id === host.host_id);
  expect(there?.reserved.slots).toBe(1);
  expect(await worker.metric("holdfast_reservations_freed_total")).toBe(0);
  await ledger.boots.free(host.boot_id, { kind: "proof", sandbox_ids: [reply.grant.sandbox_id], all_gone: false });
}, 90_000);
