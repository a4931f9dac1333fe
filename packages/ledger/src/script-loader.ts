/**
 * Reads scripts/*.lua and resolves their include lines: each part once, before what needs it.
 * Constants of the contract are handed to Lua as the part `values`, so that no number lives twice.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { BOUNDS, RETENTION_DEFAULTS, TIMES } from "@holdfast/contract";
import { withKeyNames } from "./key-names.js";
import * as failures from "./task-failures.js";
import { usedParts } from "./used-parts.js";
import { withUsualFields } from "./usual-fields.js";

/** Raised by every change of layout or arguments: a ledger of another number is refused. */
export const SCHEMA = 3;

/** What Redis may lose in a crash with appendfsync everysec. A DEAD younger than this may be taken back by one. */
export const LOST_TAIL_MS = 2_000;

const SCRIPTS = new URL("../scripts/", import.meta.url);
const INCLUDE = /^--- @include "([a-z-]+)"$/;

export interface Script {
  readonly name: string;
  readonly text: string;
  readonly sha: string;
}

export type Scripts = ReadonlyMap<string, Script>;

export interface LoadOptions {
  readonly lease_ms: number;
  /** Parts in place of the files of these names; tests put a clock of their own here. */
  readonly parts?: Readonly<Record<string, string>>;
}

export function loadScripts(options: LoadOptions): Scripts {
  const files = readdirSync(SCRIPTS).filter((file) => file.endsWith(".lua"));
  return new Map(
    files.map((file) => {
      const name = file.slice(0, -".lua".length);
      const text = compose(readFileSync(new URL(file, SCRIPTS), "utf8"), options);
      return [name, { name, text, sha: createHash("sha1").update(text).digest("hex") }];
    }),
  );
}

/** A script's text with every part of it that is used in place. */
export function compose(source: string, options: LoadOptions): string {
  const seen = new Set<string>();

  function expand(text: string): string {
    return text
      .split("\n")
      .map((line) => {
        const name = INCLUDE.exec(line)?.[1];
        if (name === undefined) return line;
        if (seen.has(name)) return "";
        seen.add(name);
        return expand(partOf(name, options));
      })
      .join("\n");
  }

  const script = withKeyNames(expand(source));
  return withUsualFields(script, usedParts(script));
}

function partOf(name: string, options: LoadOptions): string {
  const given = options.parts?.[name];
  if (given !== undefined) return given;
  if (name === "values") return valuesOf(options.lease_ms);
  return readFileSync(new URL(`include/${name}.lua`, SCRIPTS), "utf8");
}

/** Errors that scripts of every task may end in, by JSON: they would weigh more than all else that is sent. */
function textsOf(): Readonly<Record<string, string>> {
  const [CANCELLED, LOST_EXHAUSTED, LOST_UNAVAILABLE] = failures.endsOfGivingBack("sandbox_lost");
  const { IMAGE_NOT_ALLOWED, CAPABILITY_ABSENT, RESOURCES_TOO_LARGE, QUEUE_TIMEOUT } = failures;
  const refusals = { IMAGE_NOT_ALLOWED, CAPABILITY_ABSENT, RESOURCES_TOO_LARGE, QUEUE_TIMEOUT };
  const LOST_EVENT = failures.requeuedEvent("sandbox_lost");
  return { ...refusals, CANCELLED, LOST_EVENT, LOST_EXHAUSTED, LOST_UNAVAILABLE };
}

const quoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

function valuesOf(lease_ms: number): string {
  const numbers = {
    LEASE_MS: lease_ms,
    RECORD_RETENTION_MS: TIMES.record_retention_ms,
    OUTPUT_RETENTION_MS: TIMES.output_retention_ms,
    /** Longer than a plain producer's job is under way once its task has ended. */
    PLAIN_RETENTION_MS: 3_600_000,
    RECORDS_MAX: RETENTION_DEFAULTS.records_max,
    RECORDS_MIN_MS: RETENTION_DEFAULTS.records_min_ms,
    JOBS_MAX: RETENTION_DEFAULTS.jobs_max,
    TOMBSTONE_RETENTION_MS: TIMES.tombstone_retention_ms,
    LOST_TAIL_MS,
    /** Longer than any copy of an admit can be under way. */
    SPENT_TOKEN_MS: 600_000,
    /** A producer has this long to add the job of what it had accepted. */
    HEALING_FIRST_MS: 2_000,
    HEALING_AGAIN_MS: 5_000,
    POOL_YIELD_MS: TIMES.pool_yield_ms,
    HAND_BACKS_MAX: BOUNDS.attempts_max,
    BODIES_BYTES_MAX: BOUNDS.pending_bodies_bytes_max,
    STREAM_BYTES_MAX: BOUNDS.stream_bytes_max,
    MARK_BYTES: BOUNDS.stream_bytes_max / 32,
    /** Larger events publish their number only. */
    NEWS_BYTES_MAX: 4_096,
  };
  const lines = [
    ...Object.entries(numbers).map(([name, value]) => `local ${name} = ${value}`),
    ...Object.entries(textsOf()).map(([name, text]) => `local ${name} = ${quoted(text)}`),
  ];
  return [`local SCHEMA = '${SCHEMA}'`, ...lines].join("\n");
}
