/** One consumer of one queue: fetches while slots are free. */
import type { Job } from "bullmq";
import { answerJobs } from "./answer-job.js";
import { settlesWithin } from "./bounded-call.js";
import { boundFetches } from "./bounded-fetch.js";
import { FetchingWorker, type QueueConnection, workerBackend, workerConnectionName } from "./fetching-worker.js";
import { FINISHED_KEPT } from "./job-codec.js";
import type { ConsumeOptions, Consumer } from "./task-queue.js";

/** With no job under way, a close that takes longer than this waits for a connection that is dead. */
const LAST_CALLS_MS = 5_000;

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
  /** Somebody's rate limit on the queue: it is asked again as often as an idle queue is. */
  maximumRateLimitDelay: 4_000,
  removeOnComplete: FINISHED_KEPT,
  removeOnFail: FINISHED_KEPT,
} as const;

export interface ConsumerDeps {
  /** A connection of its own, without a retry limit per request. Ended by close(). */
  readonly connection: QueueConnection;
  readonly prefix: string;
  /** Wakes a sleeping job ahead of those that wait. */
  wake(queue: string, job_id: string): Promise<unknown>;
}

export function openConsumer(deps: ConsumerDeps, options: ConsumeOptions): Consumer {
  const { connection: command, prefix } = deps;
  const { queue, boot_id } = options;
  const notice = (event: string, fields: Readonly<Record<string, unknown>>): void =>
    options.onNotice?.({ event, queue, ...fields });
  boundFetches(command);
  const blocking = command.duplicate({ connectionName: workerConnectionName(prefix, queue, boot_id) });
  for (const connection of [command, blocking]) connection.on("error", () => {});

  const answers = answerJobs({ queue, handle: options.handle, wake: deps.wake, notice });
  const worker = new FetchingWorker(
    queue,
    (job: Job, token?: string) => answers.answer(job, token ?? ""),
    { ...WORKER_OPTIONS, connection: command, prefix, name: boot_id },
    workerBackend({ command, blocking, prefix }),
  );
  worker.on("error", (error) => notice("queue_error", { message: error.message }));
  worker.on("stalled", (job_id) => notice("job_stalled", { job_id }));
  worker.on("lockRenewalFailed", (job_ids) => notice("job_lock_lost", { job_ids }));
  worker.on("failed", (job, error) => notice("job_failed", { job_id: job?.id, message: error.message }));

  return steer({ worker, command, blocking, notice, whenIdle: answers.whenIdle });
}

interface Steered {
  readonly worker: FetchingWorker;
  readonly command: QueueConnection;
  readonly blocking: QueueConnection;
  /** Resolves when no job is under way. */
  whenIdle(): Promise<void>;
  notice(event: string, fields: Readonly<Record<string, unknown>>): void;
}

function steer({ worker, command, blocking, notice, whenIdle }: Steered): Consumer {
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
    const end_ms = performance.now() + deadline_ms;
    await worker.pause(true);
    const closed = worker.close();
    const idle = await settlesWithin(deadline_ms, Promise.race([closed, whenIdle()]));
    const left_ms = Math.min(LAST_CALLS_MS, end_ms - performance.now());
    if (!idle || !(await settlesWithin(left_ms, closed))) {
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
