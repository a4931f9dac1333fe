/** Waits for a task's end by its events, and reads the outcome from its record: events are only the notice. */
import { HoldfastError, type Outcome, type TaskName } from "@holdfast/contract";
import type { EventStore, TaskStore } from "@holdfast/ledger";
import { boundedCall } from "@holdfast/queue";

export interface OutcomeDeps {
  readonly tasks: Pick<TaskStore, "outcome" | "view">;
  readonly events: Pick<EventStore, "follow">;
  readonly fail_fast_ms: number;
}

export interface OutcomeOptions {
  /** Gives null where the task has not ended by then; 0 only looks. Without it the wait has no end. */
  readonly wait_ms?: number;
  readonly signal?: AbortSignal;
}

export async function awaitOutcome(
  deps: OutcomeDeps,
  name: TaskName,
  options: OutcomeOptions = {},
): Promise<Outcome | null> {
  const { tasks, fail_fast_ms } = deps;
  options.signal?.throwIfAborted();
  const read = (): Promise<Outcome | null> => boundedCall(fail_fast_ms, () => tasks.outcome(name));
  const before = await read();
  if (before) return before;
  const view = await boundedCall(fail_fast_ms, () => tasks.view(name));
  if (!view) throw new HoldfastError("TASK_NOT_FOUND");
  if (options.wait_ms === 0) return read();

  await ending(deps.events, name, view.events, options);
  options.signal?.throwIfAborted();
  return read();
}

/** Returns after the terminal event, after `wait_ms`, or once the signal fires. */
async function ending(
  events: Pick<EventStore, "follow">,
  name: TaskName,
  after: number,
  { wait_ms, signal }: OutcomeOptions,
): Promise<void> {
  const ends = [signal, wait_ms === undefined ? undefined : AbortSignal.timeout(wait_ms)].filter(
    (end) => end !== undefined,
  );
  const end = AbortSignal.any(ends);
  try {
    for await (const item of events.follow(name, { after, signal: end })) {
      if (item.kind === "task_finished") return;
    }
  } catch (error) {
    if (!end.aborted) throw error;
  }
}
