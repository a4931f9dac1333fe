import type { HoldfastClient } from "@holdfast/client";
import type { Outcome, StreamItem, TaskName } from "@holdfast/contract";
import type { Console } from "./output/console.js";
import { createOutputWriter } from "./output/output-writer.js";
import { startWaitingLine } from "./output/waiting-line.js";

export interface FollowTaskOptions {
  /** One JSON object a line: each event as it comes, then the outcome. */
  readonly json: boolean;
  readonly signal?: AbortSignal;
}

/** What a caller must read besides the output: why the task ended other than by its command's own doing. */
function verdictOf(outcome: Outcome): string[] {
  const { error } = outcome;
  if (error === null || error.code === "NONZERO_EXIT") return [];
  return [error.fault === "user" ? error.message : error.summary];
}

/** Shows a task's events until it has ended. Rejects with the signal's reason once that is aborted. */
export async function followTask(
  client: HoldfastClient,
  console: Console,
  name: TaskName,
  options: FollowTaskOptions,
): Promise<Outcome> {
  const writer = createOutputWriter(console);
  const waiting = options.json ? null : startWaitingLine(console, () => client.status(name));
  const show = async (item: StreamItem): Promise<void> => {
    if (options.json) return console.line(JSON.stringify(item));
    if (item.kind === "task_started" || item.kind === "task_finished") waiting?.clear();
    if (item.kind === "stale") console.note("nothing was heard of the task for 30 s; still listening");
    await writer.accept(item);
  };
  try {
    const follow = options.signal === undefined ? {} : { signal: options.signal };
    for await (const item of client.events(name, follow)) await show(item);
    options.signal?.throwIfAborted();
    const outcome = await client.outcome(name);
    if (options.json) console.line(JSON.stringify({ kind: "outcome", outcome }));
    const totals = { stdout: outcome.stdout.total_bytes, stderr: outcome.stderr.total_bytes };
    const notes = options.json ? [] : [...writer.losses(totals), ...verdictOf(outcome)];
    for (const note of notes) console.note(note);
    return outcome;
  } finally {
    waiting?.clear();
  }
}
