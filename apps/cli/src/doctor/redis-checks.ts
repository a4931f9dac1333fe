/** What is to be told of the fleet's Redis, or of the one that `up` would start. Never its password. */
import { execFile } from "node:child_process";
import { type Check, failing, passed, skipped, warning } from "@holdfast/engine";
import { openLedger, type ServerProblem, type TailKept } from "@holdfast/ledger";
import { isAllowed, type WorkerConfig } from "@holdfast/worker";
import type { CommandContext, FleetOptions } from "../command-context.js";
import { dataFolderAt, readPrivateFile, refuseForeignFolder } from "../data-folder/data-folder.js";
import { findOnPath, REDIS_PROGRAM } from "../data-folder/redis-process.js";
import { upHolder } from "../data-folder/up-lock.js";

const FAIL_FAST_MS = 3_000;
const VERSION_MIN = 7;
const INSTALL = "install the Debian package redis-server (apt-get install redis-server), or set REDIS_URL";
const NAMES = ["redis_version", "redis_policy", "redis_aof"] as const;

function addressOf(context: CommandContext, options: FleetOptions): { url: string; from: string } | null {
  const { REDIS_URL, HOLDFAST_DATA } = context.config;
  if (REDIS_URL !== undefined) return { url: REDIS_URL, from: "REDIS_URL" };
  const folder = dataFolderAt(options.data ?? HOLDFAST_DATA);
  refuseForeignFolder(folder.path);
  const url = upHolder(folder.path) === null ? null : readPrivateFile(folder.url_file);
  return url === null ? null : { url, from: `the up on ${folder.path}` };
}

/** Each problem under a name of its own; those that a setting accepts are warnings. */
export function judgeServer(problems: readonly ServerProblem[], tail: TailKept, config: WorkerConfig): Check[] {
  const checks = NAMES.map((name): Check => {
    const found = problems.find(({ problem }) => name === `redis_${problem}`);
    if (found === undefined) return passed(name, "as it must be");
    const remedy =
      found.setting === null ? `use Redis ${VERSION_MIN}.0 or newer` : "change it in the server's settings";
    return (isAllowed(config, found) ? warning : failing)(name, found.message, remedy);
  });
  if (tail === "kept") return [...checks, passed("redis_tail", "appendfsync is always")];
  if (tail === "unknown") return [...checks, skipped("redis_tail", "this user may not ask for appendfsync")];
  const seen = "appendfsync is not always: a crash may forget the last acceptances and outcomes";
  return [...checks, warning("redis_tail", seen, "set appendfsync always where that matters")];
}

async function serverChecks(url: string, from: string, config: WorkerConfig): Promise<Check[]> {
  try {
    const prefix = config.HOLDFAST_PREFIX;
    const ledger = await openLedger({ url, prefix, role: "doctor", fail_fast_ms: FAIL_FAST_MS });
    try {
      const [problems, tail] = [await ledger.serverProblems(), await ledger.tailKept()];
      return [passed("redis", `answers; named by ${from}`), ...judgeServer(problems, tail, config)];
    } finally {
      await ledger.close();
    }
  } catch {
    const remedy = "start it, and see that address and password are right";
    const away = failing("redis", `no Redis answers at the address that is named by ${from}`, remedy);
    return [away, ...NAMES.map((name) => skipped(name, "Redis cannot be asked"))];
  }
}

function versionOf(program: string): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(program, ["--version"], { timeout: FAIL_FAST_MS }, (error, stdout) => {
      resolve(error === null ? (/\bv=([0-9.]+)/.exec(stdout)?.[1] ?? null) : null);
    });
  });
}

async function privateCheck(path: string): Promise<Check> {
  const program = findOnPath(REDIS_PROGRAM, path);
  const none = "none is given and no up runs";
  if (program === null) return failing("redis", `${none}, and ${REDIS_PROGRAM} is not on PATH`, INSTALL);
  const version = await versionOf(program);
  const seen = `${none}: up would start a private one (${program}, ${version ?? "of unknown version"})`;
  if (Number.parseInt(version ?? "", 10) >= VERSION_MIN) return passed("redis", seen);
  return failing("redis", seen, `use Redis ${VERSION_MIN}.0 or newer: ${INSTALL}`);
}

export async function redisChecks(
  context: CommandContext,
  options: FleetOptions,
  config: WorkerConfig,
): Promise<Check[]> {
  const address = addressOf(context, options);
  if (address === null) return [await privateCheck(context.env["PATH"] ?? "")];
  return serverChecks(address.url, address.from, config);
}
