/** Hands each fetched job to its handler and turns the disposition into the job's next state. */
import { withoutOutput } from "@holdfast/contract";
import { DelayedError, type Job, UnrecoverableError, WaitingError } from "bullmq";
import { decodeJob } from "./job-codec.js";
import type { ConsumeOptions, Disposition } from "./task-queue.js";

/** A job whose handler failed unexpectedly is tried again after this. */
const HANDLER_FAILED_SLEEP_MS = 5_000;

export type Notice = (event: string, fields: Readonly<Record<string, unknown>>) => void;

export interface Answers {
  /** BullMQ's processor: what it resolves to or throws is what becomes of the job. */
  answer(job: Job, token: string): Promise<unknown>;
  /** Resolves when no job is under way. */
  whenIdle(): Promise<void>;
}

export interface AnswersDeps extends Pick<ConsumeOptions, "queue" | "handle"> {
  /** Wakes a sleeping job ahead of those that wait. */
  wake(queue: string, job_id: string): Promise<unknown>;
  readonly notice: Notice;
}

export function answerJobs({ queue, handle, wake, notice }: AnswersDeps): Answers {
  const underWay = new Set<Promise<unknown>>();

  /** Counted, since at the end it matters whether anything but Redis is waited for. */
  function answer(job: Job, token: string): Promise<unknown> {
    const ending = process(job, token).finally(() => underWay.delete(ending));
    underWay.add(ending);
    return ending;
  }

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
      return await handle(decodeJob(queue, job), queue);
    } catch (error) {
      notice("handler_failed", { job_id: job.id, error });
      return { kind: "park", sleep_ms: HANDLER_FAILED_SLEEP_MS };
    }
  }

  async function wakeIfOverslept(job: Job, { overslept }: Extract<Disposition, { kind: "park" }>): Promise<void> {
    if (overslept && (await overslept().catch(() => false))) await moved("wake", job, () => wake(queue, job.id ?? ""));
  }

  /** A job that is not ours any more (its lock lapsed, or a re-sent move came second) is left as it stands. */
  async function moved(verb: string, job: Job, move: () => Promise<unknown>): Promise<void> {
    try {
      await move();
    } catch (error) {
      notice("job_not_moved", { verb, job_id: job.id, error });
    }
  }

  return {
    answer,
    whenIdle: async () => {
      while (underWay.size > 0) await Promise.allSettled(underWay);
    },
  };
}

/** Now by the clock that BullMQ stamped the job's fetch with, which also judges when its sleep is over. */
function bullTime(job: Job, fetched_at: number): number {
  return Math.round((job.processedOn ?? job.timestamp) + performance.now() - fetched_at);
}

/** Paths of this program have no business in a job that anyone may read. */
function withoutStack<Thrown extends Error>(error: Thrown): Thrown {
  error.stack = "";
  return error;
}
