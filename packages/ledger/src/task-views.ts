/** Tasks as status commands show them. */
import { type Shortage, type TaskView, taskViewSchema, type WaitDetails, waitDetailsSchema } from "@holdfast/contract";
import type { Caller } from "./caller.js";
import { idPart } from "./keys.js";
import type { TaskPage, TaskQuery } from "./ledger.js";
import { list, outcomeOf, type Reply, rowsOf, text, whole } from "./replies.js";
import { waitMessage } from "./wait-message.js";

/** One step holds Redis for a few milliseconds at most, also where each task it looks at is shown. */
const SHOWN_MAX = 100;
const LOOKED_AT_MAX = 500;

const orNull = (reply: Reply | undefined): string | null => text(reply) || null;
const wholeOrNull = (reply: Reply | undefined): number | null => (text(reply) === "" ? null : whole(reply));

export function viewOf(reply: Reply | undefined): TaskView {
  return parseView(reply, null);
}

/** Null where there is no such task. */
export function statusOf(reply: Reply): TaskView | null {
  const [view, details] = list(reply);
  return view === undefined ? null : parseView(view, details === undefined ? null : detailsOf(details));
}

function parseView(reply: Reply | undefined, details: WaitDetails | null): TaskView {
  const [workspace, task, status, phase, attempt, delivery, image, cancel, accepted, ended, ...rest] = list(reply);
  const [reason, since, host, given_back, cleanup_pending, events, outcome] = rest;
  const message = () => waitMessage(text(reason), details);
  return taskViewSchema.parse({
    workspace_id: workspace,
    task_id: task,
    status,
    phase,
    attempt: whole(attempt),
    delivery: whole(delivery),
    image,
    cancel_requested: cancel === "1",
    accepted_at_ms: whole(accepted),
    ended_at_ms: wholeOrNull(ended),
    waiting: reason === "" ? null : { reason, message: message(), since_ms: whole(since), details },
    host_id: orNull(host),
    given_back: orNull(given_back),
    cleanup_pending: cleanup_pending === "1",
    events: whole(events),
    outcome: outcome === "" ? null : outcomeOf(outcome),
  });
}

function detailsOf(reply: Reply): WaitDetails {
  const [scope, short, place, hosts, sent_to, opens, deadline] = list(reply);
  const [listed, at, of] = list(place);
  return waitDetailsSchema.parse({
    scope: orNull(scope),
    short: shortagesOf(short),
    place: listed === undefined ? null : { list: listed, place: whole(at), of: whole(of) },
    hosts: list(hosts).map((row) => {
      const [host_id, reason, lacks] = list(row);
      return { host_id, reason, short: shortagesOf(lacks) };
    }),
    sent_to_host_id: orNull(sent_to),
    grants_open_in_ms: whole(opens),
    queue_timeout_at_ms: wholeOrNull(deadline),
  });
}

function shortagesOf(reply: Reply | undefined): Shortage[] {
  return rowsOf(reply, 4).map(([amount, wanted, reserved, limit]) => ({
    amount: text(amount) as Shortage["amount"],
    wanted: whole(wanted),
    reserved: whole(reserved),
    limit: whole(limit),
  }));
}

export async function listTasks(caller: Caller, query: TaskQuery): Promise<TaskPage> {
  const { workspace_id, cursor, limit, statuses = [], image = "", age_ms_max } = query;
  const [views, looked_at, oldest, next] = list(
    await caller.run("task-list", [
      ...[idPart(workspace_id), cursor ?? "", Math.max(1, Math.min(limit, SHOWN_MAX)), LOOKED_AT_MAX],
      ...[image, age_ms_max ?? "", ...statuses],
    ]),
  );
  return {
    tasks: list(views).map(viewOf),
    looked_at: whole(looked_at),
    oldest_at_ms: wholeOrNull(oldest),
    cursor: orNull(next),
  };
}
