/** The job of a task's current delivery may be lost or used up while the task still waits: it then gets a new one. */
import type { Delivery, TaskStore } from "@holdfast/ledger";
import type { JobState, TaskQueue } from "./task-queue.js";

export type HealingDecision =
  | { readonly kind: "redeliver"; readonly reason: string }
  /** It sleeps by somebody's order for longer than we let any sleep. */
  | { readonly kind: "wake" }
  /** The job will still bring the task to a worker. */
  | { readonly kind: "leave" };

export type Healing =
  | { readonly kind: "redelivered"; readonly delivery: Delivery }
  | { readonly kind: "left" | "woken"; readonly state: JobState }
  /** Another healer was first, or the task waits no more. */
  | { readonly kind: "overtaken" };

export function decideHealing(state: JobState): HealingDecision {
  switch (state) {
    case "finished":
      return { kind: "redeliver", reason: "delivery_finished" };
    case "gone":
      return { kind: "redeliver", reason: "delivery_gone" };
    case "delayed":
      return { kind: "wake" };
    case "waiting":
    case "active":
    case "parked":
      return { kind: "leave" };
  }
}

/** For a PENDING task. Safe to repeat and to run in several workers: the ledger counts one new delivery. */
export async function healDelivery(
  queue: Pick<TaskQueue, "state" | "deliver" | "promote">,
  tasks: Pick<TaskStore, "redeliver">,
  delivery: Delivery,
): Promise<Healing> {
  const state = await queue.state(delivery.queue, delivery.job_id);
  const decision = decideHealing(state);
  if (decision.kind === "leave") return { kind: "left", state };
  if (decision.kind === "wake") {
    await queue.promote([delivery]);
    return { kind: "woken", state };
  }
  const next = await tasks.redeliver(delivery, decision.reason);
  if (next === null) return { kind: "overtaken" };
  await queue.deliver(next);
  return { kind: "redelivered", delivery: next };
}
