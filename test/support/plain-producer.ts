/** A producer that knows nothing of us: stock BullMQ, of the version we pin or of the line before it. */
import type { Outcome } from "@holdfast/contract";
import { Queue, QueueEvents } from "bullmq";
import { Queue as Queue5, QueueEvents as QueueEvents5 } from "bullmq-5";
import { Redis } from "ioredis";

export const VERSIONS = ["6", "5"] as const;

const ANSWERED_MS = 120_000;
const QUEUE = "tasks";

export interface PlainJobOptions {
  readonly jobId?: string;
  readonly attempts?: number;
  readonly backoff?: number;
  readonly delay?: number;
  readonly priority?: number;
  readonly lifo?: boolean;
  readonly removeOnComplete?: boolean;
  readonly removeOnFail?: boolean;
  readonly deduplication?: { readonly id: string };
}

export interface PlainJob {
  readonly id: string;
  readonly timestamp: number;
  /** What waitUntilFinished gives, asked for as soon as the job was added. */
  readonly finished: Promise<Outcome>;
  state(): Promise<string>;
  remove(): Promise<void>;
}

export interface PlainProducer {
  readonly redis: Redis;
  add(data: unknown, options?: PlainJobOptions, name?: string): Promise<PlainJob>;
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Everything in the queue, with what is under way. */
  obliterate(): Promise<void>;
  keyOf(id: string): string;
  close(): Promise<void>;
}

export interface PlainSettings {
  readonly url: string;
  readonly prefix: string;
  readonly version?: (typeof VERSIONS)[number];
}

export async function openPlainProducer({ url, prefix, version = "6" }: PlainSettings): Promise<PlainProducer> {
  const [connection, blocking] = [0, 1].map(() => new Redis(url, { maxRetriesPerRequest: null }));
  if (connection === undefined || blocking === undefined) throw new Error("no connection");
  for (const each of [connection, blocking]) each.on("error", () => undefined);
  const settings = { connection, prefix };
  // The two versions are alike in all that is used here, and in no type.
  const queue = version === "6" ? new Queue(QUEUE, settings) : (new Queue5(QUEUE, settings) as unknown as Queue);
  const reading = { ...settings, connection: blocking };
  const events =
    version === "6" ? new QueueEvents(QUEUE, reading) : (new QueueEvents5(QUEUE, reading) as unknown as QueueEvents);
  await events.waitUntilReady();

  return {
    redis: connection,
    keyOf: (id) => `${prefix}:${QUEUE}:${id}`,
    add: async (data, options = {}, name = "plain") => {
      const job = await queue.add(name, data, options);
      const finished: Promise<Outcome> = job.waitUntilFinished(events, ANSWERED_MS);
      finished.catch(() => undefined);
      const state = () => job.getState();
      return { id: `${job.id}`, timestamp: job.timestamp, finished, state, remove: () => job.remove() };
    },
    pause: () => queue.pause(),
    resume: () => queue.resume(),
    obliterate: () => queue.obliterate({ force: true }),
    close: async () => {
      await Promise.all([queue.close(), events.close()]);
      connection.disconnect();
      blocking.disconnect();
    },
  };
}

/** Text of this length in a job's data, made where it is stored. */
export async function swell(producer: PlainProducer, id: string, bytes: number): Promise<void> {
  const script = "return redis.call('HSET', KEYS[1], 'data', '{\"stdin\":\"' .. string.rep('x', ARGV[1]) .. '\"}')";
  await producer.redis.eval(script, 1, producer.keyOf(id), bytes);
}
