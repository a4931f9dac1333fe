/** What the parts of one schedule's doing share. */
import { type TaskName, taskIdSchema, workspaceIdSchema } from "@holdfast/contract";
import type { HuntFleet, HuntWorker } from "./fleet.js";
import type { HuntHost } from "./host.js";
import type { LimitSet } from "./order.js";

export interface Stage {
  readonly fleet: HuntFleet;
  /** `<workspace>.<task>` of all that were submitted. */
  readonly names: string[];
  /** Ids of plain producers' jobs. */
  readonly plain_jobs: string[];
  /** Every limit that was set, in order. */
  readonly limits: LimitSet[];
  /** What goes on beside the schedule's next step. */
  readonly under_way: Set<Promise<unknown>>;
}

export const chosen = <Item>(items: readonly Item[], nth: number): Item | undefined => items[nth % items.length];

export function hostAt({ fleet }: Stage, n: number): HuntHost {
  const host = chosen(fleet.hosts, n);
  if (host === undefined) throw new Error("the fleet has no host");
  return host;
}

export function workersUp({ fleet }: Stage): HuntWorker[] {
  return fleet.workers.filter(({ health }) => health === "up");
}

export function beside({ under_way }: Stage, work: Promise<unknown>): void {
  under_way.add(work);
  // What it throws is met by whoever waits for all that goes on.
  void work.then(
    () => under_way.delete(work),
    () => undefined,
  );
}

export function taskNamed(name: string): TaskName {
  const [workspace, task] = name.split(".");
  return { workspace_id: workspaceIdSchema.parse(workspace), task_id: taskIdSchema.parse(task) };
}
