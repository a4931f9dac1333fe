/** One fleet for the tests of a file, and the requests they send. */
import type { TaskName, TaskRequestInput } from "@holdfast/contract";
import { afterAll, beforeAll } from "vitest";
import { waitFor } from "../../support/wait-for.js";
import { type LabFleet, type LabFleetOptions, startLabFleet } from "./fleet.js";
import { allOf } from "./history.js";
import { SHELL_IMAGE } from "./image-archive.js";
import { endAllProcesses } from "./processes.js";
import { keyOf } from "./recorded-client.js";

const LONG = "HOLDFAST_LONG";

/** How much of a fault is tried: little in every run, more in the long one. */
export function times<Value>(short: Value, long: Value): Value {
  return process.env[LONG] === "1" ? long : short;
}

export function useFleet(options: LabFleetOptions): () => LabFleet {
  let fleet: LabFleet | null = null;
  beforeAll(async () => {
    fleet = await startLabFleet(options);
  });
  afterAll(async () => {
    await fleet?.close();
    await endAllProcesses();
  });
  return () => {
    if (fleet === null) throw new Error("the fleet did not start");
    return fleet;
  };
}

export function shell(script: string, more: Partial<TaskRequestInput> = {}): TaskRequestInput {
  return {
    image: SHELL_IMAGE,
    command: ["sh", "-c", script],
    timeout_seconds: 120,
    resources: { cpu: 0.5, memory_mb: 64, disk_mb: 16 },
    ...more,
  };
}

/** Submits and insists that the task was accepted. */
export async function accepted(fleet: LabFleet, request: TaskRequestInput): Promise<TaskName> {
  const task = await fleet.producer.submit(request);
  if (task === null) throw new Error("the task was not accepted");
  return task;
}

/** Waits until user code of the task runs, or has run. */
export async function running(fleet: LabFleet, task: TaskName, bound_ms = 30_000): Promise<void> {
  const active = () =>
    allOf(fleet.history.records, "write").some(
      ({ op, reply, task: of }) => op === "activate" && reply === "active" && of === keyOf(task),
    );
  await waitFor(active, { bound_ms, what: `${task.task_id} runs` });
}

/** How many grants the task was given. */
export function grantsOf(fleet: LabFleet, task: TaskName): number {
  const grants = allOf(fleet.history.records, "grant").filter((grant) => grant.task === keyOf(task));
  return new Set(grants.map(({ fence }) => fence)).size;
}
