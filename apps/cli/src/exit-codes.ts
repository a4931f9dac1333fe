import type { ErrorCode, Fault, Outcome } from "@holdfast/contract";

/** Exit codes of ours; every other one is the task's own. */
export const EXIT = {
  ok: 0,
  /** The task failed and has no exit code of its own. */
  failed: 1,
  usage: 2,
  time_limit: 124,
  /** A fault of platform, policy or capacity. */
  platform: 125,
  cancelled: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** What a task's end becomes: its own exit code where its code decided the end. */
export function exitCodeOf(outcome: Pick<Outcome, "status" | "exit_code" | "error">): number {
  switch (outcome.status) {
    case "SUCCEEDED":
      return EXIT.ok;
    case "TIMEOUT":
      return EXIT.time_limit;
    case "CANCELLED":
      return EXIT.cancelled;
    case "FAILED":
      if (outcome.error !== null && outcome.error.fault !== "user") return EXIT.platform;
      return outcome.exit_code === null || outcome.exit_code === 0 ? EXIT.failed : outcome.exit_code;
  }
}

/** What a refused or failed call becomes, before there is any outcome. */
export function exitCodeOfError(error: { readonly code: ErrorCode; readonly fault: Fault }): ExitCode {
  return error.fault === "user" ? EXIT.usage : EXIT.platform;
}
