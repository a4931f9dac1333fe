/** Cancels a task in the ledger, which is what counts, and wakes the jobs that may go on because of it. */
import { HoldfastError, type Outcome, type TaskName } from "@holdfast/contract";
import type { TaskStore } from "@holdfast/ledger";
import { boundedCall, type TaskQueue } from "@holdfast/queue";
import { wake } from "./wake.js";

export type Cancelled =
  /** Final: nothing is running and nothing will. */
  | { readonly kind: "cancelled"; readonly outcome: Outcome }
  /** The worker that runs it is told; the outcome follows. */
  | { readonly kind: "requested" }
  /** It had ended before. */
  | { readonly kind: "finished"; readonly outcome: Outcome };

export interface CancelDeps {
  readonly tasks: Pick<TaskStore, "cancel">;
  readonly queue: Pick<TaskQueue, "promote">;
  readonly fail_fast_ms: number;
}

export async function cancelTask(deps: CancelDeps, name: TaskName): Promise<Cancelled> {
  const reply = await boundedCall(deps.fail_fast_ms, () => deps.tasks.cancel(name));
  switch (reply.kind) {
    case "unknown":
      throw new HoldfastError("TASK_NOT_FOUND");
    case "requested":
      return { kind: "requested" };
    case "finished":
      return { kind: "finished", outcome: reply.outcome };
    case "cancelled":
      await wake(deps.queue, reply.promotions);
      return { kind: "cancelled", outcome: reply.outcome };
  }
}
