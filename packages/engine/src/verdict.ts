/**
 * Tells from evidence what a command's end means: by waitpid, control group and mounts as process 1 saw them, and by
 * the engine's record. Output text decides nothing (O1).
 */
import { clip, type Evidence, type Resources, sandboxMemoryMb, type TaskError, taskError } from "@holdfast/contract";
import type { GuestExit } from "@holdfast/guest";

export interface ExitCircumstances {
  readonly resources: Resources;
  readonly timeout_seconds: number;
  /** The program as asked for, named in messages. */
  readonly program: string;
  readonly working_directory: string;
  /** From the engine's record; null where it was not asked. */
  readonly oom_killed?: boolean | null;
}

/** Of a name that may have 128 KiB; messages are kept in records, events and jobs. */
const NAME_CHARACTERS_MAX = 256;

function startError(exit: GuestExit, around: ExitCircumstances): TaskError | null {
  if (exit.start_failure === null) return null;
  const program = clip(around.program, NAME_CHARACTERS_MAX);
  const folder = clip(around.working_directory, NAME_CHARACTERS_MAX);
  const { code, errno } = exit.start_failure;
  const evidence: Evidence = { errno, exit_code: exit.exit_code };
  switch (code) {
    case "COMMAND_NOT_FOUND":
      return taskError(code, { message: `The command ${program} was not found in the image.`, evidence });
    case "COMMAND_NOT_EXECUTABLE":
      return taskError(code, { message: `The command ${program} cannot be executed (${errno}).`, evidence });
    case "WORKING_DIRECTORY_INVALID":
      return taskError(code, {
        message: `The working directory ${folder} cannot be used (${errno}).`,
        evidence,
      });
    default:
      return taskError(code, { evidence });
  }
}

/** Memory is to blame only where the kernel says that it killed for want of it. */
function memoryError(exit: GuestExit, around: ExitCircumstances): TaskError | null {
  const kills = exit.oom_kills ?? 0;
  const killed = exit.signal === "SIGKILL" && around.oom_killed === true;
  if (kills === 0 && !killed) return null;
  const limit_mb = sandboxMemoryMb(around.resources);
  return taskError("OUT_OF_MEMORY", {
    message: `The sandbox ran out of its memory limit of ${limit_mb} MiB (memory_mb ${around.resources.memory_mb}).`,
    evidence: {
      oom_kills: exit.oom_kills,
      limit_mb,
      memory_peak_bytes: exit.memory_peak_bytes,
      signal: exit.signal,
      exit_code: exit.exit_code,
    },
  });
}

/** A write into a mapped file that finds no block ends as SIGBUS; other signals have causes of their own. */
function diskError(exit: GuestExit): TaskError | null {
  const [mount] = exit.full_mounts;
  if (mount === undefined || (exit.signal !== null && exit.signal !== "SIGBUS")) return null;
  const message = `The command failed with exit code ${exit.exit_code} while ${exit.full_mounts.join(" and ")} was full.`;
  return taskError("DISK_FULL", { message, evidence: { full: exit.full_mounts.join(" "), exit_code: exit.exit_code } });
}

function signalError(exit: GuestExit): TaskError | null {
  if (exit.signal === null) return null;
  const message = `The command was ended by ${exit.signal}.`;
  return taskError("KILLED_BY_SIGNAL", { message, evidence: { signal: exit.signal, exit_code: exit.exit_code } });
}

/** The error of a command that ended by itself or at its time limit; null where it succeeded. */
export function judgeExit(exit: GuestExit, around: ExitCircumstances): TaskError | null {
  const start = startError(exit, around);
  if (start !== null) return start;
  if (exit.timed_out) {
    const message = `The command was ended at its time limit of ${around.timeout_seconds} s.`;
    return taskError("TIME_LIMIT", {
      message,
      evidence: { timeout_seconds: around.timeout_seconds, wall_ms: exit.wall_ms },
    });
  }
  if (exit.exit_code === 0) return null;
  const found = memoryError(exit, around) ?? diskError(exit) ?? signalError(exit);
  if (found !== null) return found;
  // A status that nobody knows is a fault of the platform, never a success.
  if (exit.exit_code === null) return taskError("SANDBOX_LOST", { evidence: { exit_code: null } });
  const message = `The command ended with exit code ${exit.exit_code}.`;
  return taskError("NONZERO_EXIT", { message, evidence: { exit_code: exit.exit_code } });
}
