/** One consumer of one queue: fetches while slots are free and turns each disposition into the job's next state. */
import { withoutOutput } from "@holdfast/contract";
import { DelayedError, type Job, UnrecoverableError, WaitingError } from "bullmq";
import { settlesWithin } from "./bounded-call.js";
import { boundFetches } from "./bounded-fetch.js";
import { FetchingWorker, type QueueConnection, workerBackend, workerConnectionName } from "./fetching-worker.js";
import { decodeJob, FINISHED_KEPT } from "./job-codec.js";
import type { ConsumeOptions, Consumer, Disposition } from "./task-queue.js";

/** A job whose handler failed unexpectedly is tried again after this. */
const HANDLER_FAILED_SLEEP_MS = 5_000;

const WORKER_OPTIONS = {
  autorun: false,
  concurrency: 1,
  /** A fetch whose answer was lost is found again only when this has run out. Renewed at half. */
  lockDuration: 10_000,
  stalledInterval: 5_000,
  /** A lost reply or a blocked worker burns a stall; the ledger counts attempts, not the queue. */
  maxStalledCount: 1_000,
  drainDelay: 2,
  runRetryDelay: 1_000,
  removeOnComplete: FINISHED_KEPT,
  removeOnFail: FINISHED_KEPT,
} as const;

export interface ConsumerDeps {
  /** A connection of its own, without a retry limit per request. Ended by close(). */
  readonly connection: QueueConnection;
  readonly prefix: string;
}

export function openConsumer(deps: ConsumerDeps, options: ConsumeOptions): Consumer {
  const { connection: command, prefix } = deps;
  const { queue, boot_id } = options;
  const notice = (event: string, fields: Readonly<Record<string, unknown>>): void =>
    options.onNotice?.({ event, queue, ...fields });
  boundFetches(command);
  const blocking = command.duplicate({ connectionName: workerConnectionName(prefix, queue, boot_id) });
  for (const connection of [command, blocking]) connection.on("error", () => {});

  const worker = new FetchingWorker(
    queue,
    (job: Job, token?: string) => process(job, token ?? ""),
    { ...WORKER_OPTIONS, connection: command, prefix, name: boot_id },
    workerBackend({ command, blocking, prefix }),
  );
  worker.on("error", (error) => notice("queue_error", { message: error.message }));
  worker.on("stalled", (job_id) => notice("job_stalled", { job_id }));
  worker.on("lockRenewalFailed", (job_ids) => notice("job_lock_lost", { job_ids }));
  worker.on("failed", (job, error) => notice("job_failed", { job_id: job?.id, message: error.message }));

  async function process(job: Job, token: string): Promise<unknown> {
    const fetched = performance.now();
    const disposition = await decide(job);
    switch (disposition.kind) {
      case "complete":
        return withoutOutput(disposition.outcome);
      case "stale":
        return { stale: true };
      case "reject":
        throw withoutStack(new UnrecoverableError(disposition.message));
      case "park":
        await moved("park", job, () => job.moveToDelayed(bullTime(job, fetched) + disposition.sleep_ms, token));
        // Not waited for: this slot is free, and the job may be fetched again only once it was let go here.
        void wakeIfOverslept(job, disposition);
        throw new DelayedError();
      case "give_back":
        await moved("give_back", job, () => job.moveToWait(token));
        throw new WaitingError();
    }
  }

  async function decide(job: Job): Promise<Disposition> {
    try {
      return await options.handle(decodeJob(queue, job), queue);
    } catch (error) {
      notice("handler_failed", { job_id: job.id, error });
      return { kind: "park", sleep_ms: HANDLER_FAILED_SLEEP_MS };
    }
  }

  async function wakeIfOverslept(job: Job, { overslept }: Extract<Disposition, { kind: "park" }>): Promise<void> {
    if (overslept && (await overslept().catch(() => false))) await moved("wake", job, () => job.promote());
  }

  /** A job that is not ours any more (its lock lapsed, or a re-sent move came second) is left as it stands. */
  async function moved(verb: string, job: Job, move: () => Promise<unknown>): Promise<void> {
    try {
      await move();
    } catch (error) {
      notice("job_not_moved", { verb, job_id: job.id, error });
    }
  }

  return steer({ worker, command, blocking, notice });
}

/** Now by the clock that BullMQ stamped the job's fetch with, which also judges when its sleep is over. */
function bullTime(job: Job, fetched_at: number): number {
  return Math.round((job.processedOn ?? job.timestamp) + performance.now() - fetched_at);
}

interface Steered {
  readonly worker: FetchingWorker;
  readonly command: QueueConnection;
  readonly blocking: QueueConnection;
  notice(event: string, fields: Readonly<Record<string, unknown>>): void;
}

function steer({ worker, command, blocking, notice }: Steered): Consumer {
  let slots = 0;
  let closing: Promise<void> | undefined;
  const failed = (error: unknown): void =>
    notice("queue_error", { message: error instanceof Error ? error.message : String(error) });

  function run(): void {
    if (!worker.isRunning() && !worker.isPaused()) worker.run().catch(failed);
  }

  /** The loop may be waiting for a running job: a pause and a resume are what makes it look at its slots again. */
  async function wake(): Promise<void> {
    if (!worker.isPaused()) await worker.pause(true);
    if (slots === 0 || closing) return;
    await worker.resume();
    run();
  }

  function setSlots(wanted: number): void {
    const before = slots;
    slots = Math.max(0, Math.floor(wanted));
    if (closing || slots === before) return;
    if (slots === 0) {
      worker.pause(true).catch(failed);
      return;
    }
    worker.concurrency = slots;
    if (worker.isRunning()) {
      if (slots > before) wake().catch(failed);
    } else if (worker.isPaused()) {
      worker.resume().catch(failed);
    } else {
      run();
    }
  }

  async function end(deadline_ms: number): Promise<void> {
    await worker.pause(true);
    const ended = await settlesWithin(deadline_ms, worker.close());
    if (!ended) {
      notice("close_forced", { deadline_ms });
      await worker.abandon();
    }
    blocking.disconnect();
    command.disconnect();
  }

  return {
    setSlots,
    pause: () => setSlots(0),
    close: (deadline_ms) => {
      closing ??= end(deadline_ms);
      return closing;
    },
    idleMs: () => worker.idleMs(),
  };
}

/** Paths of this program have no business in a job that anyone may read. */
function withoutStack<Thrown extends Error>(error: Thrown): Thrown {
  error.stack = "";
  return error;
}
