/** Names of all scripts that programs of ours send, by the hash that EVALSHA carries: ours and BullMQ's. */
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { TIMES } from "@holdfast/contract";
import { loadScripts } from "../../../packages/ledger/src/script-loader.js";
import { FETCHES, withinBounds } from "../../../packages/queue/src/bounded-fetch.js";
import { PROMOTE_JOB } from "../../../packages/queue/src/promote-job.js";
import { type ScriptNames, sha1 } from "./resp-protocol.js";

const require = createRequire(import.meta.url);

function bullScripts(): [string, string][] {
  const folder = join(dirname(require.resolve("bullmq")), "scripts");
  return readdirSync(folder)
    .filter((file) => /^[A-Za-z]+-[0-9]+\.js$/.test(file))
    .flatMap((file): [string, string][] => {
      const [name = ""] = file.split("-");
      const exported = require(join(folder, file)) as Record<string, { readonly content?: string }>;
      const content = exported[name]?.content;
      if (content === undefined) return [];
      const sent = FETCHES.test(`${name}:`) ? [content, withinBounds(content)] : [content];
      return sent.map((text) => [sha1(text), `bull:${name}`]);
    });
}

let known: Map<string, string> | null = null;

/** Our scripts by their own names such as `task-settle`, BullMQ's as `bull:moveToFinished`. */
export function scriptNames(): ScriptNames {
  known ??= new Map([
    ...[...loadScripts({ lease_ms: TIMES.boot_lease_ms }).values()].map(({ sha, name }) => [sha, name] as const),
    ...bullScripts(),
    [sha1(PROMOTE_JOB), "job-promote"],
  ]);
  const names = known;
  return (sha) => names.get(sha) ?? null;
}

/** The ledger's scripts, for tests that visit every one. */
export function ledgerScripts(): string[] {
  return [...loadScripts({ lease_ms: TIMES.boot_lease_ms }).keys()].sort();
}
