/**
 * BullMQ's worker with a few things added at its fetch: the moment of the last one that returned, a bound on how long a
 * blocking one lasts, and jobs that would otherwise come back for ever: with data that is no JSON, or a schedule that
 * is none.
 */
import type { Ledger } from "@holdfast/ledger";
import {
  type BackendFactory,
  type Job,
  type JobJson,
  type Processor,
  QueueKeys,
  RedisConnection,
  RedisQueueBackend,
  Worker,
  type WorkerOptions,
} from "bullmq";

/** What a ledger hands out for BullMQ. */
export type QueueConnection = ReturnType<Ledger["connection"]>;

/** A connection that died without a word is noticed one second after this. */
const BLOCK_SECONDS_MAX = 4;

export class FetchingWorker extends Worker {
  #fetchedAt = performance.now();

  constructor(name: string, processor: Processor, options: WorkerOptions, backend: BackendFactory<RedisQueueBackend>) {
    super(name, processor, options, backend);
  }

  /** Monotonic milliseconds since the last fetch that returned, with a job or without. */
  idleMs(): number {
    return performance.now() - this.#fetchedAt;
  }

  /** BullMQ's types leave out that there may be no data and no job. */
  protected override async nextJobFromJobData(data?: JobJson | null, jobId?: string, token?: string): Promise<Job> {
    this.#fetchedAt = performance.now();
    const job: Job | undefined = await super.nextJobFromJobData(data as JobJson, jobId, token);
    if (job || !data || jobId === undefined) return job;
    // Its schedule cannot be read: BullMQ would leave it active, to be found as stalled again and again.
    const unscheduled = this.createJob(data, jobId);
    if (token !== undefined) unscheduled.token = token;
    return unscheduled;
  }

  /** Stops the renewal of locks where a close could not get that far; it would keep the process alive. */
  async abandon(): Promise<void> {
    await this.lockManager.close();
  }

  protected override getBlockTimeout(blockUntil: number): number {
    return Math.min(super.getBlockTimeout(blockUntil), BLOCK_SECONDS_MAX);
  }

  protected override createJob(data: JobJson, jobId: string): Job {
    try {
      return super.createJob(data, jobId);
    } catch {
      return super.createJob({ ...data, data: "null" }, jobId);
    }
  }
}

export interface WorkerConnections {
  readonly command: QueueConnection;
  readonly blocking: QueueConnection;
  readonly prefix: string;
}

/** Both connections stay the caller's: BullMQ closes neither, so that a close can be bounded. */
export function workerBackend({ command, blocking, prefix }: WorkerConnections): BackendFactory<RedisQueueBackend> {
  return (name, options) => {
    const keys = new QueueKeys(prefix);
    return new RedisQueueBackend(
      new RedisConnection(command, { shared: true, blocking: false }),
      name,
      keys.getKeys(name),
      (kind) => keys.toKey(name, kind),
      options,
      new RedisConnection(blocking, { shared: true, blocking: true }),
    );
  };
}

/** The name under which any BullMQ client finds the workers of a queue. */
export function workerConnectionName(prefix: string, queue: string, worker: string): string {
  return `${prefix}:${Buffer.from(queue).toString("base64")}:w:${worker}`;
}
