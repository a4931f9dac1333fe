/** Connections to Redis. None ever gives a command up by itself: what must end in time is bounded by its caller. */
import type { Redis, RedisOptions } from "ioredis";
import { BatchedRedis } from "./batched-redis.js";

/** Reconnect and send the command again: a replica was met, or a server that still loads its data. */
const RECONNECT_AND_RESEND = 2;

/** ioredis waits so long for a stream to end, even for one that ended long ago, and keeps its process alive for it. */
const DISCONNECT_TIMEOUT_MS = 100;

export interface ConnectOptions {
  readonly url: string;
  /** Shown by CLIENT LIST. */
  readonly name: string;
}

export function connect(options: ConnectOptions): Redis {
  const settings: RedisOptions = {
    connectionName: options.name,
    maxRetriesPerRequest: null,
    enableReadyCheck: true,
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    retryStrategy: (tries) => Math.min(50 * 2 ** Math.min(tries, 6), 1_000),
    reconnectOnError: (error) => (/^(READONLY|LOADING)/.test(error.message) ? RECONNECT_AND_RESEND : false),
  };
  const redis = new BatchedRedis(options.url, settings);
  // Without a listener ioredis prints each failed try; callers see the state by their own calls.
  redis.on("error", () => undefined);
  return redis;
}

/** Waits until the connection takes commands. Rejects when `signal` aborts or the connection was closed for good. */
export function whenReady(redis: Redis, signal: AbortSignal): Promise<void> {
  if (redis.status === "ready") return Promise.resolve();
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => () => {
      redis.off("ready", ready);
      redis.off("end", failed);
      signal.removeEventListener("abort", failed);
      act();
    };
    const ready = settle(resolve);
    const failed = settle(() => reject(new Error("the connection to Redis is not ready")));
    redis.on("ready", ready);
    redis.on("end", failed);
    signal.addEventListener("abort", failed);
    if (signal.aborted || redis.status === "end") failed();
  });
}
