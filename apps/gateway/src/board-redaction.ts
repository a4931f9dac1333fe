/**
 * What the board may show of a job. Any BullMQ client may put a job on the shared queue, so names, data, options and
 * errors are of unknown origin and may hold secrets or markup. Nothing is cleaned here: a job is rebuilt from known
 * fields with checked values, and all else is counted.
 */
import { ERROR_CODES, taskIdSchema, workspaceIdSchema } from "@holdfast/contract";

type Fields = Readonly<Record<string, unknown>>;

const JOB_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$/;
const IMAGE = /^[a-z0-9][a-z0-9._/:-]{0,255}(@sha256:[0-9a-f]{64})?$/;
const WORD = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const HIDDEN = "(hidden)";

export function fieldsOf(value: unknown): Fields {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? (value as Fields) : {};
}

const numberOr = <T>(value: unknown, otherwise: T): number | T =>
  typeof value === "number" && Number.isFinite(value) ? value : otherwise;
const numberOrNull = (value: unknown): number | null => numberOr(value, null);
const matching = (value: unknown, pattern: RegExp): string | null =>
  typeof value === "string" && pattern.test(value) ? value : null;
const sizeOf = (value: unknown): number => (typeof value === "string" ? value.length : 0);
const countOf = (value: unknown): number => (Array.isArray(value) ? value.length : Object.keys(fieldsOf(value)).length);
const idOr = (value: unknown, schema: { safeParse(input: unknown): { success: boolean } }): string | null =>
  schema.safeParse(value).success ? String(value) : null;

/** Only the numbers of an object, by the names given. */
function numbersOf(value: unknown, names: readonly string[]): Record<string, number> {
  const fields = fieldsOf(value);
  return Object.fromEntries(
    names.flatMap((name) => {
      const found = numberOrNull(fields[name]);
      return found === null ? [] : [[name, found]];
    }),
  );
}

const REQUEST_FIELDS = ["command", "env", "files", "stdin", "labels"];
const RESOURCE_NAMES = ["cpu", "memory_mb", "disk_mb", "pids_limit"];
const REQUEST_NUMBERS = ["timeout_seconds", "queue_timeout_seconds", "attempts_max"];

function requestSummary(data: Fields): Record<string, unknown> {
  const files = Array.isArray(data["files"]) ? data["files"] : [];
  return {
    kind: "request",
    workspace_id: idOr(data["workspace_id"], workspaceIdSchema),
    task_id: idOr(data["task_id"], taskIdSchema),
    image: matching(data["image"], IMAGE),
    command_arguments: countOf(data["command"]),
    env_variables: countOf(data["env"]),
    files: files.length,
    files_characters: files.reduce((sum: number, file) => sum + sizeOf(fieldsOf(file)["content"]), 0),
    stdin_characters: sizeOf(data["stdin"]),
    labels: countOf(data["labels"]),
    ...numbersOf(data, REQUEST_NUMBERS),
    resources: numbersOf(data["resources"], RESOURCE_NAMES),
  };
}

/** What the queue puts in the place of data that it does not hand out. */
const UNSHOWN: ReadonlyMap<unknown, string> = new Map([
  ["cut", "too long to be shown"],
  ["unreadable", "not JSON"],
]);

/** A job's data: ids of a delivery, or a plain producer's request as counts and sizes. */
export function summarizeData(data: unknown): Record<string, unknown> {
  const fields = fieldsOf(data);
  if ("image" in fields || REQUEST_FIELDS.some((name) => name in fields)) return requestSummary(fields);
  const workspace_id = idOr(fields["workspace_id"], workspaceIdSchema);
  const task_id = idOr(fields["task_id"], taskIdSchema);
  const unshown = UNSHOWN.get(fields["holdfast"]);
  if (unshown !== undefined) return { kind: unshown, bytes: numberOrNull(fields["bytes"]) };
  if (task_id === null || !("holdfast" in fields)) return { kind: "unknown", fields: Object.keys(fields).length };
  return { kind: "delivery", workspace_id, task_id, delivery: numberOrNull(fields["delivery"]) };
}

const TIMING_NAMES = ["queued_ms", "setup_ms", "run_ms", "harvest_ms", "total_ms"];
const USAGE_NAMES = ["cpu_ms", "memory_peak_bytes", "killed_processes", "kill_ms"];

/** A code of the closed list, where `value` is one. */
function errorCodeOf(value: unknown): string | null {
  return typeof value === "string" && Object.hasOwn(ERROR_CODES, value) ? value : null;
}

/** A job's return value: an outcome's numbers, ids and codes; its messages and output stay out. */
export function summarizeReturnValue(value: unknown): unknown {
  if (value === null || value === undefined) return null;
  const outcome = fieldsOf(value);
  const error = fieldsOf(outcome["error"]);
  return {
    workspace_id: idOr(outcome["workspace_id"], workspaceIdSchema),
    task_id: idOr(outcome["task_id"], taskIdSchema),
    status: matching(outcome["status"], /^[A-Z]{1,16}$/),
    exit_code: numberOrNull(outcome["exit_code"]),
    signal: matching(outcome["signal"], /^SIG[A-Z0-9+]{1,12}$/),
    attempt: numberOrNull(outcome["attempt"]),
    host_id: matching(outcome["host_id"], WORD),
    image: matching(outcome["image"], IMAGE),
    error_code: errorCodeOf(error["code"]),
    stdout_bytes: numberOrNull(fieldsOf(outcome["stdout"])["total_bytes"]),
    stderr_bytes: numberOrNull(fieldsOf(outcome["stderr"])["total_bytes"]),
    timing: numbersOf(outcome["timing"], TIMING_NAMES),
    usage: numbersOf(outcome["usage"], USAGE_NAMES),
  };
}

/** Says what kind of job it is; a producer's own name for it is not shown. */
export function nameOf(job: unknown): string {
  switch (summarizeData(fieldsOf(job)["data"])["kind"]) {
    case "request":
      return "request";
    case "delivery":
      return "delivery";
    default:
      return "unknown";
  }
}

/** A failed job's reason: the code it begins with where that is ours, never its text. */
export function reasonOf(text: unknown): string | undefined {
  if (typeof text !== "string" || text === "") return undefined;
  const code = errorCodeOf(/^[A-Z_]{3,40}/.exec(text)?.[0]);
  return code === null ? "The reason is not shown here." : `${code} (the text is not shown here)`;
}

const OPTION_NUMBERS = ["attempts", "delay", "priority", "timestamp"];
const JOB_NUMBERS = ["processedOn", "finishedOn", "delay", "priority", "attemptsStarted", "stalledCounter"];

/** A formatted job of the board, rebuilt. `data`, `returnValue` and `name` may be raw or formatted already. */
export function redactJob(job: unknown): Record<string, unknown> {
  const raw = fieldsOf(job);
  const reason = reasonOf(raw["failedReason"]);
  return {
    id: matching(raw["id"], JOB_ID) ?? HIDDEN,
    name: matching(raw["name"], /^(delivery|request)$/) ?? "unknown",
    timestamp: numberOr(raw["timestamp"], 0),
    ...numbersOf(raw, JOB_NUMBERS),
    progress: numberOr(raw["progress"], 0),
    attempts: numberOr(raw["attempts"], 0),
    ...(reason === undefined ? {} : { failedReason: reason }),
    stacktrace: [],
    opts: numbersOf(raw["opts"], OPTION_NUMBERS),
    data: raw["data"],
    returnValue: raw["returnValue"],
    isFailed: raw["isFailed"] === true,
  };
}
