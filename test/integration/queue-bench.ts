/** What the queue's tests share: a task queue of one Redis, and a consumer that is told what to answer. */
import { drawBootId, type Outcome, outcomeSchema, taskIdSchema, workspaceIdSchema } from "@holdfast/contract";
import type { Delivery } from "@holdfast/ledger";
import { type Consumer, type Disposition, type Envelope, openTaskQueue, type TaskQueue } from "@holdfast/queue";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll } from "vitest";
import { type PrivateRedis, startPrivateRedis } from "../support/private-redis.js";
import { waitFor } from "../support/wait-for.js";

export interface QueueBench {
  readonly queue: TaskQueue;
  readonly prefix: string;
  /** A connection of the test's own, closed with the bench. */
  connect(): Redis;
  close(): Promise<void>;
}

export function openQueueBench(url: string, fail_fast_ms = 4_000): QueueBench {
  const prefix = `t_${Math.random().toString(36).slice(2)}`;
  const connections: Redis[] = [];
  const connect = (): Redis => {
    const connection = new Redis(url, {
      maxRetriesPerRequest: null,
      retryStrategy: (times) => Math.min(times * 50, 500),
    });
    connection.on("error", () => {});
    connections.push(connection);
    return connection;
  };
  const queue = openTaskQueue({ ledger: { connection: connect }, prefix, fail_fast_ms });
  return {
    queue,
    prefix,
    connect,
    close: async () => {
      await queue.close();
      for (const connection of connections) connection.disconnect();
    },
  };
}

export function deliveryOf(task: string, delivery = 1, queue = "tasks"): Delivery {
  const name = { workspace_id: workspaceIdSchema.parse("default"), task_id: taskIdSchema.parse(task) };
  return { ...name, delivery, queue, job_id: `default.${task}.${delivery}` };
}

export function outcomeOf(task: string): Outcome {
  const stream = { text: "secret output", encoding: "utf8", truncated: false, total_bytes: 13, sha256: null };
  return outcomeSchema.parse({
    workspace_id: "default",
    task_id: task,
    status: "SUCCEEDED",
    ran: true,
    warm: false,
    exit_code: 0,
    signal: null,
    attempt: 1,
    host_id: null,
    image: "shell:1",
    image_digest: null,
    generation: 1,
    state_lost: false,
    isolation: "runc",
    stdout: stream,
    stderr: stream,
    limits: null,
    timing: { queued_ms: 1, setup_ms: 1, run_ms: 1, harvest_ms: 1, total_ms: 4 },
    usage: { cpu_ms: null, memory_peak_bytes: null, killed_processes: null, kill_ms: null },
    tree_receipt: null,
    cleanup_pending: false,
    error: null,
  });
}

export function taskOf(envelope: Envelope): string {
  return envelope.kind === "delivery" ? envelope.name.task_id : envelope.job_id;
}

export interface Handled {
  readonly consumer: Consumer;
  /** Envelopes in the order in which they came. */
  readonly seen: Envelope[];
  readonly notices: Readonly<Record<string, unknown>>[];
  /** Handlers that have not answered yet. */
  underWay(): number;
  seenAtLeast(count: number, bound_ms?: number): Promise<void>;
}

export async function handleWith(
  bench: Pick<QueueBench, "queue">,
  answer: (envelope: Envelope, queue: string) => Disposition | Promise<Disposition>,
  queue = "tasks",
): Promise<Handled> {
  const seen: Envelope[] = [];
  const notices: Readonly<Record<string, unknown>>[] = [];
  let open = 0;
  const consumer = await bench.queue.consume({
    queue,
    boot_id: drawBootId(),
    handle: async (envelope, from) => {
      seen.push(envelope);
      open += 1;
      try {
        return await answer(envelope, from);
      } finally {
        open -= 1;
      }
    },
    onNotice: (notice) => notices.push(notice),
  });
  return {
    consumer,
    seen,
    notices,
    underWay: () => open,
    seenAtLeast: async (count, bound_ms = 5_000) => {
      await waitFor(() => seen.length >= count, { bound_ms, what: `${count} jobs fetched` });
    },
  };
}

/** A handler that answers only when told to. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

/** One Redis for a file. Opens a queue of a test's own each time it is called; it ends with the test. */
export function useQueueBenches(): () => QueueBench {
  let redis: PrivateRedis;
  const benches: QueueBench[] = [];
  beforeAll(async () => {
    redis = await startPrivateRedis();
  });
  afterEach(async () => {
    await Promise.all(benches.splice(0).map((opened) => opened.close()));
  });
  afterAll(async () => {
    await redis.stop();
  });
  return () => {
    const opened = openQueueBench(redis.url);
    benches.push(opened);
    return opened;
  };
}

/** Answers a job with the outcome of its task. */
export const complete = (envelope: Envelope) => ({ kind: "complete", outcome: outcomeOf(taskOf(envelope)) }) as const;
