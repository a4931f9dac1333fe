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

/** Why accept refused, in the words of the closed list. `offered` are the runtimes that hosts have for the image. */
export function refusalOf(why: string, request: TaskRequest, offered: readonly string[]): TaskError {
  switch (why) {
    case "image":
      return taskError("IMAGE_NOT_ALLOWED", { evidence: { field: "image", image: request.image } });
    case "runtime":
      return taskError("CAPABILITY_ABSENT", {
        message: `No host of this fleet offers the runtime ${request.runtime} for this image; there is ${offered.join(", ")}.`,
        evidence: { field: "runtime", runtime: request.runtime, offered: offered.join(", ") },
      });
    case "resources":
      return taskError("RESOURCES_TOO_LARGE", { evidence: { field: "resources", ...request.resources } });
    case "bodies":
      return taskError("CAPACITY_EXHAUSTED", { retry_after_ms: 1_000 });
    default:
      return taskError("INTERNAL");
  }
}
