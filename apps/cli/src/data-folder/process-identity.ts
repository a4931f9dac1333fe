/** Names a process so that a later look cannot mistake another one for it: pids are reused, start times are not. */
import { readFileSync } from "node:fs";

export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks from the kernel's start to the process's. */
  readonly start_ticks: string;
  /** Differs after each restart of the machine. */
  readonly kernel_boot: string;
}

const START_TICKS_FIELD = 22;
const STATE_FIELD = 3;

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

/** Null where no such process runs; a zombie has ended. */
export function identify(pid: number): ProcessIdentity | null {
  const stat = readOrNull(`/proc/${pid}/stat`);
  const kernel_boot = readOrNull("/proc/sys/kernel/random/boot_id")?.trim();
  if (stat === null || kernel_boot === undefined) return null;
  // The second field is the program's name in parentheses and may hold spaces and parentheses itself.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const state = fields[STATE_FIELD - 3];
  const start_ticks = fields[START_TICKS_FIELD - 3];
  if (state === undefined || state === "Z" || start_ticks === undefined) return null;
  return { pid, start_ticks, kernel_boot };
}

/** True while that very process runs. */
export function isRunning(identity: ProcessIdentity): boolean {
  const now = identify(identity.pid);
  return now !== null && now.start_ticks === identity.start_ticks && now.kernel_boot === identity.kernel_boot;
}
