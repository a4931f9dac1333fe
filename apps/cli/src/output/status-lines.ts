/** A task's status for people: where it stands, why it waits, how it ended and by whose doing. */
import {
  HOST_REASONS,
  type Outcome,
  shortageText,
  type TaskPhase,
  type TaskView,
  type WaitDetails,
} from "@holdfast/contract";
import { facts, span, table } from "./table.js";

type Fact = readonly [string, string | null];

const PHASES: Record<TaskPhase, string> = {
  queued: "in the queue",
  parked: "in a waiting list",
  sent_to_boot: "sent to a worker that has room",
  creating: "its sandbox is being created",
  running: "its command runs",
  recovering: "its worker died; another takes it over",
  cleanup_pending: "its sandbox is still being removed and holds capacity",
  ended: "nothing of it is left running",
};

function waitingFacts(view: TaskView, now_ms: number): Fact[] {
  if (view.waiting === null) return [];
  const { reason, message, since_ms, details, queue_paused } = view.waiting;
  const facts: Fact[] = [["waiting", `${message} (${reason}, for ${span(now_ms - since_ms)})`]];
  if (queue_paused) facts.push(["queue", "paused by somebody: nothing is fetched from it until it is resumed"]);
  return details === null ? facts : [...facts, ...detailFacts(details, now_ms)];
}

function detailFacts(
  { scope, short, place, sent_to_host_id, queue_timeout_at_ms }: WaitDetails,
  now_ms: number,
): Fact[] {
  const limit = short.length === 0 ? "" : `: ${shortageText(short)}`;
  return [
    ["limit", scope === null ? null : scope === "host" ? "of the hosts, as below" : `of the ${scope}${limit}`],
    ["place", place === null ? null : `${place.place} of ${place.of} in the waiting list of the ${place.list}`],
    ["sent_to", sent_to_host_id],
    ["queue_timeout", queue_timeout_at_ms === null ? null : `in ${span(queue_timeout_at_ms - now_ms)}`],
  ];
}

/** Whose doing the end was. */
function endedBy({ status, error }: Outcome): string {
  switch (error?.code) {
    case undefined:
      return status === "SUCCEEDED" ? "its own command" : "unknown";
    case "CANCELLED":
      return "a cancel";
    case "QUEUE_TIMEOUT":
      return "its queue time-out, before it ran";
    case "TIME_LIMIT":
      return "its time limit";
  }
  const doings = { user: "its own code or request", policy: "a rule of the fleet", capacity: "want of room" };
  return error?.fault === "platform" || error === null ? "a failure of the platform" : doings[error.fault];
}

function endFacts(view: TaskView, now_ms: number): Fact[] {
  const { outcome, ended_at_ms } = view;
  if (outcome === null || ended_at_ms === null) return [];
  const { error, exit_code, host_id } = outcome;
  return [
    ["ended", `${new Date(ended_at_ms).toISOString()} (${span(now_ms - ended_at_ms)} ago)`],
    ["ended_by", endedBy(outcome)],
    ["ran_on", host_id],
    ["exit_code", exit_code === null ? null : String(exit_code)],
    ["error", error === null ? null : `${error.code}: ${error.summary}`],
  ];
}

function hostLines({ hosts }: WaitDetails): string[] {
  const rows = hosts.map(({ host_id, reason, short }) => {
    const lacks = short.length === 0 ? "" : `: ${shortageText(short)}`;
    return [host_id, reason, `${HOST_REASONS[reason]}${lacks}`];
  });
  return rows.length === 0 ? ["", "No host is registered."] : ["", ...table(["HOST", "REASON", "WHAT IT MEANS"], rows)];
}

export function statusLines(view: TaskView, now_ms: number): string[] {
  const removing = view.cleanup_pending && view.phase !== "cleanup_pending";
  const lines = facts([
    ["task_id", view.task_id],
    ["workspace", view.workspace_id],
    ["status", `${view.status}: ${PHASES[view.phase]}`],
    ...waitingFacts(view, now_ms),
    ["cancel", view.cancel_requested && view.outcome === null ? "requested" : null],
    ["image", view.image],
    ["host", view.host_id],
    ["attempt", String(view.attempt)],
    ["given_back", view.given_back],
    ["cleanup", removing ? "a sandbox of an earlier attempt is still being removed and holds capacity" : null],
    ["delivery", String(view.delivery)],
    ["accepted", new Date(view.accepted_at_ms).toISOString()],
    ...endFacts(view, now_ms),
  ]);
  const details = view.waiting?.details ?? null;
  return details === null ? lines : [...lines, ...hostLines(details)];
}
