/** Tasks on one worker of the fleet, whichever would have taken them: the others stand still until they run there. */
import type { TaskName, TaskRequestInput } from "@holdfast/contract";
import { waitFor } from "../../support/wait-for.js";
import { containersOf } from "./engine.js";
import type { LabFleet } from "./fleet.js";
import { allOf } from "./history.js";
import { keyOf } from "./recorded-client.js";
import { accepted, running } from "./use-fleet.js";
import type { LabWorker } from "./worker.js";

/** The others stand still for less than a lease. */
export async function runAlone(
  fleet: LabFleet,
  worker: LabWorker,
  requests: readonly TaskRequestInput[],
): Promise<TaskName[]> {
  const others = fleet.workers.filter((other) => other !== worker && other.isAlive());
  await Promise.all(others.map((other) => other.stop()));
  const tasks: TaskName[] = [];
  for (const request of requests) tasks.push(await accepted(fleet, request));
  await Promise.all(tasks.map((task) => running(fleet, task)));
  for (const other of others) other.resume();
  return tasks;
}

/** From `since` until the task was granted again. */
export async function regrant(fleet: LabFleet, task: TaskName, since: number, bound_ms: number): Promise<number> {
  const next = () => allOf(fleet.history.records, "grant").find((one) => one.task === keyOf(task) && one.at_ms > since);
  const { at_ms } = await waitFor(next, { bound_ms, what: `${task.task_id} is granted again`, look_ms: 50 });
  return at_ms - since;
}

/** Waits until no sandbox of these boots runs on the engine. Returns how long that took. */
export async function stillness(socket: string, boots: readonly string[], bound_ms: number): Promise<number> {
  const since = performance.now();
  const still = async () =>
    (await containersOf(socket)).every(
      ({ labels, state }) => state !== "running" || !boots.includes(labels["holdfast.boot"] ?? ""),
    );
  await waitFor(still, { bound_ms, what: "no sandbox of the boot runs", look_ms: 50 });
  return performance.now() - since;
}

/** Lets so much time pass that a fault lasts. */
export async function lasting(since: number, ms: number): Promise<void> {
  await waitFor(() => performance.now() - since > ms, { bound_ms: ms + 5_000, what: "the fault has lasted" });
}
