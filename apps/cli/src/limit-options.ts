/** The options of `limits set` as a scope and its limits. The ledger judges what may be set; here they get form. */
import type { ScopeRef } from "@holdfast/client";
import type { LimitKey, ScopeLimits } from "@holdfast/contract";
import type { Command } from "commander";
import { CommandFault } from "./command-fault.js";
import { parseMib, parseNumber } from "./request-options.js";

export interface LimitOptions {
  readonly workspace?: string;
  readonly fleet?: boolean;
  readonly host?: string;
  readonly slots?: string;
  readonly cpu?: string;
  readonly memory?: string;
  readonly pids?: string;
  readonly queued?: string;
  readonly pendingBytes?: string;
}

export function addLimitOptions(command: Command): Command {
  return command
    .option("--workspace <id>", "limits of a workspace")
    .option("--fleet", "limits of the whole fleet")
    .option("--host <id>", "limits of a host: they can be changed, not lifted")
    .option("--slots <count>", "tasks that run at once; 0 is a pause")
    .option("--cpu <cores>", "cores promised at once, such as 0.5 or 16")
    .option("--memory <size>", "memory at once in MiB, or such as 512m or 64g")
    .option("--pids <count>", "processes and threads at once")
    .option("--queued <count>", "tasks that wait; more are refused")
    .option("--pending-bytes <size>", "bytes of the requests that have not ended, or such as 64m or 1g");
}

function parseCount(option: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new CommandFault("usage", `--${option} ${text}: give a whole number, or none`);
}

/** Whole bytes of `4096`, `64k`, `64m` or `1g`. */
function parseBytes(option: string, text: string): number {
  const match = /^(\d{1,12})(k|m|g)?$/i.exec(text);
  if (match === null) throw new CommandFault("usage", `--${option} ${text}: give bytes, a size such as 64m, or none`);
  const power = ["", "k", "m", "g"].indexOf(match[2]?.toLowerCase() ?? "");
  return Number(match[1]) * 1024 ** power;
}

export function scopeOf(options: LimitOptions): ScopeRef {
  const { workspace, fleet, host } = options;
  const named: ScopeRef[] = [
    ...(workspace === undefined ? [] : [{ scope: "workspace", id: workspace } as const]),
    ...(fleet === true ? [{ scope: "fleet" } as const] : []),
    ...(host === undefined ? [] : [{ scope: "host", id: host } as const]),
  ];
  const [scope] = named;
  if (scope !== undefined && named.length === 1) return scope;
  throw new CommandFault("usage", "name one of --workspace <id>, --fleet and --host <id>");
}

export function limitsOf(options: LimitOptions): ScopeLimits {
  const given: [LimitKey, string | undefined, (text: string) => number][] = [
    ["slots", options.slots, (text) => parseCount("slots", text)],
    ["cpu_milli", options.cpu, (text) => Math.round(parseNumber("cpu", text) * 1_000)],
    ["memory_mb", options.memory, (text) => parseMib("memory", text)],
    ["pids", options.pids, (text) => parseCount("pids", text)],
    ["queued", options.queued, (text) => parseCount("queued", text)],
    ["pending_bytes", options.pendingBytes, (text) => parseBytes("pending-bytes", text)],
  ];
  const limits = given.flatMap(([key, text, parse]) =>
    text === undefined ? [] : [[key, text === "none" ? null : parse(text)] as const],
  );
  if (limits.length > 0) return Object.fromEntries(limits);
  throw new CommandFault("usage", "name a limit to set, such as --slots 4 or --queued none");
}
