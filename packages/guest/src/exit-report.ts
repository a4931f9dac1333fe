/** Turns the agent's report of an end into the words of the contract. */
import type { ErrorCode, Exited } from "@holdfast/contract";
import type { GuestExit } from "./guest-link.js";

/** Linux numbers signals the same on every platform we run on; index is the number. */
const SIGNALS = [
  ..."- HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP".split(" "),
  ..."TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS".split(" "),
];
const REAL_TIME_FIRST = 34;
const REAL_TIME_LAST = 64;

/** `SIGKILL` for 9; `SIGRTMIN+n` for real-time signals; never empty. */
export function signalName(number: number): string {
  const name = SIGNALS[number];
  if (number > 0 && name !== undefined) return `SIG${name}`;
  const realTime = number >= REAL_TIME_FIRST && number <= REAL_TIME_LAST;
  return realTime ? `SIGRTMIN+${number - REAL_TIME_FIRST}` : `SIG${number}`;
}

/** The number of a signal named as in `SIGTERM`, or null where there is none. */
export function signalNumber(name: string): number | null {
  const index = name.startsWith("SIG") ? SIGNALS.indexOf(name.slice(3)) : -1;
  return index > 0 ? index : null;
}

/** A full process table is the doing of the sandbox's own code; every other failure to fork or pipe is ours. */
function startFailureCode({ step, errno }: NonNullable<Exited["start_failure"]>): ErrorCode {
  switch (step) {
    case "path":
    case "interpreter":
      return "COMMAND_NOT_FOUND";
    case "exec":
      return "COMMAND_NOT_EXECUTABLE";
    case "chdir":
      return "WORKING_DIRECTORY_INVALID";
    case "fork":
      return errno === "EAGAIN" ? "COMMAND_NOT_EXECUTABLE" : "INTERNAL";
    case "pipe":
      return "INTERNAL";
  }
}

/** `malformed_lines` are progress lines that only the worker could see to be no JSON objects. */
export function guestExit(exited: Exited, malformed_lines: number): GuestExit {
  const failure = exited.start_failure;
  return {
    ...exited,
    signal: exited.signal === null ? null : signalName(exited.signal),
    start_failure: failure ? { code: startFailureCode(failure), errno: failure.errno } : null,
    progress_dropped: exited.progress_dropped + malformed_lines,
  };
}
