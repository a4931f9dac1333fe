/** What of a server Holdfast refuses to start on. Read from INFO alone, so that no right to CONFIG is needed. */
import type { ServerProblem, TailKept } from "./ledger.js";

const VERSION_MIN = 7;

/** `info` is the text of INFO with the sections server, memory and persistence. */
export function problemsOf(info: string): ServerProblem[] {
  const field = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1] ?? "";
  const problems: ServerProblem[] = [];
  const version = field("redis_version");
  if (!(Number.parseInt(version, 10) >= VERSION_MIN)) {
    const message = `Redis ${version || "of unknown version"} is too old: ${VERSION_MIN}.0 is needed for script flags.`;
    problems.push({ problem: "version", message, setting: null });
  }
  const policy = field("maxmemory_policy");
  if (policy !== "noeviction") {
    const message =
      `Redis may evict keys (maxmemory-policy is ${policy}), and so forget accepted tasks and reservations. ` +
      "Set maxmemory-policy noeviction, or HOLDFAST_ALLOW_EVICTION=1 to run all the same.";
    problems.push({ problem: "policy", message, setting: "HOLDFAST_ALLOW_EVICTION" });
  }
  if (field("aof_enabled") !== "1") {
    const message =
      "Redis keeps no append-only file, so a restart forgets accepted tasks. " +
      "Set appendonly yes, or HOLDFAST_ALLOW_NO_AOF=1 to run all the same.";
    problems.push({ problem: "aof", message, setting: "HOLDFAST_ALLOW_NO_AOF" });
  }
  return problems;
}

/** `reply` is that of CONFIG GET appendfsync; a server that keeps CONFIG to itself leaves it unknown. */
export function tailOf(reply: unknown): TailKept {
  const value = Array.isArray(reply) ? reply[1] : undefined;
  if (value === undefined) return "unknown";
  return value === "always" ? "kept" : "may_be_lost";
}
