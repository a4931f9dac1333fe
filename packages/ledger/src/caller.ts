/**
 * Runs scripts by EVALSHA, and bounds the wait of producers. A command in flight is sent again after a reconnect,
 * so every script is idempotent; a call that was given up may still be applied.
 */
import { HoldfastError } from "@holdfast/contract";
import { type Redis, ReplyError } from "ioredis";
import { whenReady } from "./connection.js";
import type { Reply } from "./replies.js";
import { SCHEMA, type Scripts } from "./script-loader.js";

/** Calls that may wait for Redis at once where calls fail fast: more are refused, so that memory stays bounded. */
const CALLS_WAITING_MAX = 10_000;

export type Argument = string | number;

export interface Caller {
  /** Runs one script. Throws LEDGER_UNAVAILABLE, SCHEMA_MISMATCH or INTERNAL. */
  run(script: string, args: readonly Argument[]): Promise<Reply>;
  /** Any other command, bounded and with the same errors. */
  command<Value>(act: (redis: Redis) => Promise<Value>): Promise<Value>;
}

export interface CallerOptions {
  readonly redis: Redis;
  readonly root: string;
  readonly scripts: Scripts;
  /** Null waits for Redis as long as it takes. */
  readonly fail_fast_ms: number | null;
}

export function createCaller(options: CallerOptions): Caller {
  const { redis, root, scripts, fail_fast_ms } = options;
  let waiting = 0;

  async function command<Value>(act: (redis: Redis) => Promise<Value>): Promise<Value> {
    try {
      return await (fail_fast_ms === null ? act(redis) : bounded(act, fail_fast_ms));
    } catch (error) {
      throw translated(error);
    }
  }

  async function bounded<Value>(act: (redis: Redis) => Promise<Value>, bound_ms: number): Promise<Value> {
    if (waiting >= CALLS_WAITING_MAX) throw new HoldfastError("LEDGER_UNAVAILABLE");
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), bound_ms);
    try {
      await whenReady(redis, late.signal);
      waiting += 1;
      const answer = act(redis).finally(() => {
        waiting -= 1;
      });
      return await Promise.race([answer, rejectedWhen(late.signal)]);
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    command,
    run: (name, args) => {
      const script = scripts.get(name);
      if (!script) throw new HoldfastError("INTERNAL", { message: `no script ${name}` });
      return command(async () => {
        try {
          return (await redis.evalsha(script.sha, 1, root, ...args)) as Reply;
        } catch (error) {
          if (!(error instanceof ReplyError) || !/^NOSCRIPT/.test(messageOf(error))) throw error;
          return (await redis.eval(script.text, 1, root, ...args)) as Reply;
        }
      });
    },
  };
}

function rejectedWhen(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new HoldfastError("LEDGER_UNAVAILABLE")));
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function mismatch(schema: number, cause: unknown): HoldfastError {
  if (schema > SCHEMA) return new HoldfastError("SCHEMA_MISMATCH", { cause });
  const message = `The fleet's ledger is of an earlier version: schema ${schema}, this program has ${SCHEMA}. Its data must be emptied.`;
  return new HoldfastError("SCHEMA_MISMATCH", { message, cause });
}

function translated(error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const message = messageOf(error);
  if (!(error instanceof ReplyError)) return new HoldfastError("LEDGER_UNAVAILABLE", { cause: error });
  const schema = /^SCHEMA (\d+)/.exec(message)?.[1];
  if (schema !== undefined) return mismatch(Number(schema), error);
  if (/^OOM/.test(message)) {
    return new HoldfastError("LEDGER_UNAVAILABLE", { message: "The fleet's ledger is out of memory.", cause: error });
  }
  return new HoldfastError("INTERNAL", { cause: error });
}
