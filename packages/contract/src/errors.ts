/**
 * The closed list of error codes. Each says whose fault it is and whether the same request may succeed later.
 * Messages are safe to show to a model: no path, address, container id or engine text of ours.
 */
import { z } from "zod";
import { BOUNDS } from "./bounds.js";
import { clip } from "./text.js";

export const FAULTS = ["user", "policy", "capacity", "platform"] as const;
export type Fault = (typeof FAULTS)[number];

interface CodeFacts {
  readonly fault: Fault;
  readonly retryable: boolean;
  /** What the caller reads when nothing more precise is known. */
  readonly message: string;
}

const PLATFORM = "The execution environment failed for the moment; this is not a fault of the submitted code.";

export const ERROR_CODES = {
  NONZERO_EXIT: { fault: "user", retryable: false, message: "The command ended with a nonzero exit code." },
  KILLED_BY_SIGNAL: { fault: "user", retryable: false, message: "The command was ended by a signal." },
  COMMAND_NOT_FOUND: { fault: "user", retryable: false, message: "The command was not found in the image." },
  COMMAND_NOT_EXECUTABLE: { fault: "user", retryable: false, message: "The command is not an executable program." },
  WORKING_DIRECTORY_INVALID: { fault: "user", retryable: false, message: "The working directory cannot be used." },
  FILE_NOT_WRITABLE: { fault: "user", retryable: false, message: "An input file cannot be written at its path." },
  TIME_LIMIT: { fault: "user", retryable: false, message: "The command was ended at its time limit." },
  OUT_OF_MEMORY: { fault: "user", retryable: false, message: "The sandbox ran out of its memory limit." },
  DISK_FULL: { fault: "user", retryable: false, message: "A writable file system of the sandbox was full." },
  SANDBOX_ENDED_BY_CODE: {
    fault: "user",
    retryable: false,
    message: "The submitted code brought the whole sandbox down.",
  },
  CANCELLED: { fault: "user", retryable: false, message: "The task was cancelled." },
  INVALID_REQUEST: { fault: "user", retryable: false, message: "The request is not valid." },
  TASK_CONFLICT: { fault: "user", retryable: false, message: "This task_id was used with a different request." },
  TASK_NOT_FOUND: { fault: "user", retryable: false, message: "No such task." },
  HOST_NOT_FOUND: { fault: "user", retryable: false, message: "No host of this fleet has this id." },
  IMAGE_NOT_ALLOWED: { fault: "policy", retryable: false, message: "The image is not on the list of allowed images." },
  RESOURCES_TOO_LARGE: { fault: "policy", retryable: false, message: "No host offers the resources asked for." },
  RESOURCES_TOO_SMALL: {
    fault: "policy",
    retryable: false,
    message: "The resources are too small to start a sandbox.",
  },
  CAPABILITY_ABSENT: { fault: "policy", retryable: false, message: "This fleet does not offer what was asked for." },
  QUEUE_TIMEOUT: {
    fault: "capacity",
    retryable: true,
    message: "No capacity became free within queue_timeout_seconds.",
  },
  CAPACITY_EXHAUSTED: { fault: "capacity", retryable: true, message: "The workspace has too much waiting work." },
  ATTEMPTS_EXHAUSTED: { fault: "platform", retryable: true, message: `${PLATFORM} All attempts were used up.` },
  SANDBOX_LOST: { fault: "platform", retryable: true, message: PLATFORM },
  ENGINE_UNAVAILABLE: { fault: "platform", retryable: true, message: PLATFORM },
  LEDGER_UNAVAILABLE: { fault: "platform", retryable: true, message: "The fleet's ledger cannot be reached." },
  POSTURE_UNVERIFIED: { fault: "platform", retryable: true, message: `${PLATFORM} Nothing was run.` },
  SCHEMA_MISMATCH: { fault: "platform", retryable: false, message: "This program is older than the fleet's ledger." },
  INTERNAL: { fault: "platform", retryable: true, message: PLATFORM },
} as const satisfies Record<string, CodeFacts>;

export type ErrorCode = keyof typeof ERROR_CODES;
export const errorCodeSchema = z.enum(Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]]);

export const taskErrorSchema = z.object({
  fault: z.enum(FAULTS),
  code: errorCodeSchema,
  retryable: z.boolean(),
  retry_after_ms: z.int().nonnegative().optional(),
  message: z.string(),
  summary: z.string().max(BOUNDS.summary_characters_max),
  /** Facts that led to the verdict: measured values, never text of the engine. */
  evidence: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
});
export type TaskError = z.infer<typeof taskErrorSchema>;
export type Evidence = TaskError["evidence"];

export interface TaskErrorDetails {
  readonly message?: string;
  readonly evidence?: Evidence;
  readonly retry_after_ms?: number;
}

const ADVICE: Record<Fault, string> = {
  user: "Change the code or the request before trying again.",
  policy: "The same request will be refused again here.",
  capacity: "Try again later.",
  platform: "The code is not at fault; the same request may be sent again.",
};

/** Builds the error of an outcome: fault and retryable come from the closed list. */
export function taskError(code: ErrorCode, details: TaskErrorDetails = {}): TaskError {
  const facts: CodeFacts = ERROR_CODES[code];
  const message = details.message ?? facts.message;
  return {
    fault: facts.fault,
    code,
    retryable: facts.retryable,
    ...(details.retry_after_ms === undefined ? {} : { retry_after_ms: details.retry_after_ms }),
    message,
    summary: clip(`${message} (fault: ${facts.fault}) ${ADVICE[facts.fault]}`, BOUNDS.summary_characters_max),
    evidence: details.evidence ?? {},
  };
}

/** What an SDK or program call throws: a coded refusal or failure, with the field at fault where there is one. */
export class HoldfastError extends Error {
  readonly code: ErrorCode;
  readonly fault: Fault;
  readonly retryable: boolean;
  readonly field: string | null;
  readonly evidence: Evidence;
  /** When it may be worth to try again; null where nothing is known. */
  readonly retry_after_ms: number | null;

  constructor(code: ErrorCode, details: TaskErrorDetails & { field?: string; cause?: unknown } = {}) {
    super(details.message ?? ERROR_CODES[code].message, { cause: details.cause });
    this.name = "HoldfastError";
    this.code = code;
    this.fault = ERROR_CODES[code].fault;
    this.retryable = ERROR_CODES[code].retryable;
    this.field = details.field ?? null;
    this.evidence = details.evidence ?? {};
    this.retry_after_ms = details.retry_after_ms ?? null;
  }
}
