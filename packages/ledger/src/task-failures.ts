/** Errors of tasks that end without a settle. Scripts get them as JSON, so that each text lives in one place. */
import { type ErrorCode, type Evidence, type TaskError, type TaskRequest, taskError } from "@holdfast/contract";

const failure = (code: ErrorCode, evidence: Evidence = {}): string => JSON.stringify(taskError(code, { evidence }));

export const CANCELLED = failure("CANCELLED");
export const QUEUE_TIMEOUT = failure("QUEUE_TIMEOUT");
export const IMAGE_NOT_ALLOWED = failure("IMAGE_NOT_ALLOWED");
export const CAPABILITY_ABSENT = failure("CAPABILITY_ABSENT", { field: "runtime" });
export const RESOURCES_TOO_LARGE = failure("RESOURCES_TOO_LARGE");

/** The event of an attempt that is given back. */
export function requeuedEvent(reason: string): string {
  return JSON.stringify({ kind: "task_requeued", reason });
}

/** What an attempt that is given back may end in: cancelled, attempts used up, hand-backs used up. */
export function endsOfGivingBack(reason: string): [string, string, string] {
  const evidence = { last_reason: reason };
  return [CANCELLED, failure("ATTEMPTS_EXHAUSTED", evidence), failure("ENGINE_UNAVAILABLE", evidence)];
}

const RETRY_AFTER_MS = 1_000;

/** What of a request counts against a limit, its field, and its words. */
const LIMITED: Record<string, { readonly field: string; readonly words: string }> = {
  cpu_milli: { field: "resources.cpu", words: "thousandths of a core" },
  memory_mb: { field: "resources.memory_mb", words: "MiB (memory_mb + disk_mb + the sandbox's own)" },
  pids: { field: "resources.pids_limit", words: "processes (pids_limit + the sandbox's own)" },
  pending_bytes: { field: "request", words: "bytes of requests" },
};

/** The task alone exceeds a limit of its workspace or the fleet. */
function largerThan([scope = "", limit = "", allowed, asked]: readonly string[]): TaskError {
  const { field, words } = LIMITED[limit] ?? { field: "resources", words: "" };
  return taskError("RESOURCES_TOO_LARGE", {
    message: `The task takes ${asked} ${words}; the limit of the ${scope} is ${allowed}.`,
    evidence: { field, scope, limit, allowed: Number(allowed), asked: Number(asked) },
  });
}

/** A workspace or the fleet has accepted as much as it may have unfinished. */
function fullOf([scope = "", limit = "", allowed]: readonly string[]): TaskError {
  const words = limit === "queued" ? "waiting tasks" : "bytes of unfinished requests";
  return taskError("CAPACITY_EXHAUSTED", {
    message: `The ${scope} has too much waiting work: its limit is ${allowed} ${words}.`,
    evidence: { scope, limit, allowed: Number(allowed) },
    retry_after_ms: RETRY_AFTER_MS,
  });
}

/**
 * Why accept refused, in the words of the closed list. `details` are the runtimes that hosts have for the image, or
 * scope, limit, number allowed and number asked for.
 */
export function refusalOf(why: string, request: TaskRequest, details: readonly string[]): TaskError {
  switch (why) {
    case "image":
      return taskError("IMAGE_NOT_ALLOWED", { evidence: { field: "image", image: request.image } });
    case "runtime":
      return taskError("CAPABILITY_ABSENT", {
        message: `No host of this fleet offers the runtime ${request.runtime} for this image; there is ${details.join(", ")}.`,
        evidence: { field: "runtime", runtime: request.runtime, offered: details.join(", ") },
      });
    case "resources":
      return taskError("RESOURCES_TOO_LARGE", { evidence: { field: "resources", ...request.resources } });
    case "larger":
      return largerThan(details);
    case "full":
      return fullOf(details);
    default:
      return taskError("INTERNAL");
  }
}
