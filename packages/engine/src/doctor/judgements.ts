/** What a proof is worth: judged from the prover's line and from what process 1 saw of its end. Pure. */
import { PIDS_OVERHEAD, type Resources, sandboxMemoryMb } from "@holdfast/contract";
import type { GuestExit } from "@holdfast/guest";
import { writableMounts } from "../container-spec.js";
import { judgeExit } from "../verdict.js";
import { type Check, failing, passed } from "./check.js";

export interface Ran {
  readonly exit: GuestExit;
  /** The prover's line: a number for each word. */
  readonly words: ReadonlyMap<string, number>;
}

export type Judge = (ran: Ran, resources: Resources) => Check;

const MIB = 1024 * 1024;
const EAGAIN = 11;
const ENOSPC = 28;
/** Of a second that is measured: the kernel gives out time in pieces of a tenth of that. */
const CPU_SHARE_SLACK = 1.3;
/** From the limit to the report of the end, on a busy host. */
export const TIME_LIMIT_SLACK_MS = 3_000;

const CGROUPS = "see that the engine's control groups are in force (`docker info`, its log) and restart the engine";
const TMPFS = "the engine does not bound the tmpfs of a sandbox: use another version of it, and report this";

export const judgeMemory: Judge = ({ exit, words }, resources) => {
  const limit_mb = sandboxMemoryMb(resources);
  const around = { resources, timeout_seconds: 0, program: "prover", working_directory: "/workspace" };
  const code = judgeExit(exit, around)?.code ?? "none";
  if (code === "OUT_OF_MEMORY") return passed("memory", `OUT_OF_MEMORY at the limit of ${limit_mb} MiB`);
  const touched = words.get("touched_mb") ?? "unknown";
  return failing("memory", `${touched} MiB taken where ${limit_mb} MiB is the limit (error: ${code})`, CGROUPS);
};

export const judgePids: Judge = ({ words }, resources) => {
  const [made, errno] = [words.get("forked"), words.get("errno")];
  const limit = resources.pids_limit + PIDS_OVERHEAD;
  const held = errno === EAGAIN && made !== undefined && made <= limit;
  if (held) return passed("pids", `${made} processes more, then refused; the limit is ${limit}`);
  return failing("pids", `${made ?? "unknown"} processes where ${limit} is the limit (errno ${errno})`, CGROUPS);
};

export const judgeDisk: Judge = ({ words }, resources) => {
  const [bytes, errno] = [words.get("wrote_bytes"), words.get("errno")];
  const limit = resources.disk_mb * MIB;
  const held = errno === ENOSPC && bytes !== undefined && bytes <= limit;
  if (held) return passed("disk", `no space after ${bytes} bytes; the limit is ${resources.disk_mb} MiB`);
  return failing("disk", `${bytes ?? "unknown"} bytes where ${limit} is the limit (errno ${errno})`, TMPFS);
};

export const judgeInodes: Judge = ({ words }, resources) => {
  const [made, errno] = [words.get("made_files"), words.get("errno")];
  const limit = writableMounts(resources)["/workspace"]?.inodes ?? 0;
  const held = errno === ENOSPC && made !== undefined && made <= limit;
  if (held) return passed("inodes", `no space after ${made} files; the limit is ${limit}`);
  return failing("inodes", `${made ?? "unknown"} files where ${limit} is the limit (errno ${errno})`, TMPFS);
};

export const judgeCpu: Judge = ({ exit, words }, resources) => {
  const share = exit.cpu_ms / Math.max(1, exit.wall_ms);
  const seen = `${share.toFixed(2)} cores used where ${resources.cpu} is the limit`;
  const held = words.has("wall_ms") && share <= resources.cpu * CPU_SHARE_SLACK;
  return held ? passed("cpu", seen) : failing("cpu", seen, CGROUPS);
};

export function judgeTimeLimit(limit_ms: number): Judge {
  return ({ exit }) => {
    const seen = `limit ${limit_ms} ms, ended after ${exit.wall_ms} ms`;
    const held = exit.timed_out && exit.wall_ms >= limit_ms && exit.wall_ms <= limit_ms + TIME_LIMIT_SLACK_MS;
    return held ? passed("time_limit", seen) : failing("time_limit", seen, "the host is overloaded: lower its slots");
  };
}

export const judgeKillTree: Judge = ({ exit, words }) => {
  const { killed_processes = 0, survivors = null } = exit.tree ?? {};
  const seen = `${killed_processes} killed, survivors ${survivors ?? "unknown"}`;
  const held = words.get("orphans") === 1 && killed_processes >= 1 && survivors === 0;
  if (held) return passed("kill_tree", `a child that left its session: ${seen}`);
  return failing("kill_tree", `a child that left its session: ${seen}`, "restart the engine; report this if it stays");
};

export const judgeNetwork: Judge = ({ words }) => {
  const [interfaces, four, six] = ["interfaces", "errno4", "errno6"].map((word) => words.get(word));
  const seen = `${interfaces ?? "unknown"} interfaces beside lo, errno ${four} and ${six} on the way out`;
  const held = interfaces === 0 && (four ?? 0) > 0 && (six ?? 0) > 0;
  if (held) return passed("network", seen);
  return failing("network", seen, "the engine does not honour network mode none: look for plugins or wrappers of its");
};

/** Where a call is missing in the kernel, it is refused as well. */
const REFUSED_CALLS_MIN = 11;

export const judgeSeccomp: Judge = ({ words }) => {
  const through = [...words].filter(([, errno]) => errno === 0).map(([name]) => name);
  const held = through.length === 0 && words.size >= REFUSED_CALLS_MIN;
  if (held) return passed("seccomp", `${words.size} system calls refused`);
  const seen = through.length > 0 ? `let through: ${through.join(", ")}` : `only ${words.size} calls were tried`;
  return failing("seccomp", seen, "the engine does not apply the seccomp profile: see `docker info`, and its runtime");
};
