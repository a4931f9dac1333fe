/** What the kernel knows of a process. A pid alone is no identity: it may be given to another one. */
import { readdirSync, readFileSync } from "node:fs";

export interface ProcessFacts {
  /** Clock ticks since the machine's start. */
  readonly started: string;
  /** Such as `R`, `S`, `T` (stopped), `Z` (dead, not yet taken note of). */
  readonly state: string;
}

export function processFacts(pid: number): ProcessFacts | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name stands in parentheses and may hold anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0] ?? "", started: fields[19] ?? "" };
  } catch {
    return null;
  }
}

/** Resident memory in KiB; 0 where the process is gone. */
export function residentKb(pid: number): number {
  try {
    return Number(/VmRSS:\s+([0-9]+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

export interface FoundProcess {
  readonly pid: number;
  readonly command: readonly string[];
}

/** Living processes one of whose arguments contains `text`. */
export function processesWith(text: string): FoundProcess[] {
  const found: FoundProcess[] = [];
  for (const entry of readdirSync("/proc")) {
    if (!/^[0-9]+$/.test(entry) || Number(entry) === process.pid) continue;
    try {
      const line = readFileSync(`/proc/${entry}/cmdline`, "utf8");
      if (line.includes(text)) found.push({ pid: Number(entry), command: line.split("\0").slice(0, -1) });
    } catch {
      // It ended meanwhile.
    }
  }
  return found;
}
