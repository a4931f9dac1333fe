/** Reads stored events of a task in pages: one script reads both of its streams in order (V1). */
import { eventSchema, type TaskEvent, type TaskName, type TaskStatus, taskStatusSchema } from "@holdfast/contract";
import type { Caller } from "./caller.js";
import { idPart } from "./keys.js";
import { list, rowsOf, text, whole } from "./replies.js";

/** A page ends after this many bytes, or one event more. */
const PAGE_BYTES_MAX = 1_048_576;
export const PAGE_EVENTS_MAX = 256;

export interface EventPage {
  readonly status: TaskStatus;
  /** Sequence number of the task's last event, also where this page ends before it. */
  readonly last: number;
  readonly events: readonly TaskEvent[];
}

/** Null where the task is unknown. */
export async function readPage(
  caller: Caller,
  name: TaskName,
  window: { after: number; limit: number },
): Promise<EventPage | null> {
  const args = [idPart(name.workspace_id), idPart(name.task_id), window.after, window.limit, PAGE_BYTES_MAX];
  const [status, last, entries] = list(await caller.run("events-read", args));
  if (status === undefined) return null;
  return {
    status: taskStatusSchema.parse(status),
    last: whole(last),
    events: rowsOf(entries, 4).map(([sequence, at_ms, attempt, body]) =>
      storedEvent({ sequence: whole(sequence), at_ms: whole(at_ms), attempt: whole(attempt) }, text(body)),
    ),
  };
}

export function storedEvent(stored: { sequence: number; at_ms: number; attempt: number }, body: string): TaskEvent {
  return eventSchema.parse({ ...(JSON.parse(body) as object), ...stored });
}
