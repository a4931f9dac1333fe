/** Where a program of the queue benches works, and what it is asked for. */

export interface Place {
  readonly redis_url: string;
  readonly prefix: string;
  /** First part of BullMQ's keys. */
  readonly queue_prefix: string;
  /** Jobs under way at once in a worker. */
  readonly concurrency: number;
}

/**
 * A batch of tasks or bare jobs, spread evenly over so many workspaces, so many under way at once. Where that is a
 * multiple of the workspaces, each workspace gets its tasks in the order of their numbers.
 */
export interface Batch {
  readonly name: string;
  readonly count: number;
  readonly workspaces: number;
  readonly window: number;
}

export interface BatchTimes {
  readonly took_ms: number;
  /** Milliseconds of each submission, in the order they were begun. */
  readonly each_ms: readonly number[];
}

export const BARE_QUEUE = "bare";
/** As our own consumers keep them. */
export const FINISHED_KEPT = { age: 24 * 3_600, count: 1_000 };

export const workspaceOf = (n: number, batch: Batch): string => `w${n % batch.workspaces}`;

/** The program's one argument behind its name. */
export function readPlace(): Place {
  return JSON.parse(process.argv[3] ?? "null") as Place;
}

/** Does `one` for each number of a batch, as many at once as its window says. */
async function submitBatch(batch: Batch, one: (n: number) => Promise<unknown>): Promise<BatchTimes> {
  const each_ms: number[] = [];
  const begun = performance.now();
  const lane = async (first: number): Promise<void> => {
    for (let n = first; n < batch.count; n += batch.window) {
      const at = performance.now();
      await one(n);
      each_ms[n] = performance.now() - at;
    }
  };
  await Promise.all(Array.from({ length: batch.window }, (_, first) => lane(first)));
  return { took_ms: performance.now() - begun, each_ms };
}

/** Serves batches asked for by the parent process until SIGTERM. */
export function serveBatches(one: (n: number, batch: Batch) => Promise<unknown>, close: () => Promise<void>): void {
  process.on("message", (batch: Batch) => {
    void submitBatch(batch, (n) => one(n, batch)).then((times) => process.send?.(times));
  });
  process.once("disconnect", () => process.exit());
  process.once("SIGTERM", () => void close().then(() => process.disconnect?.()));
  process.send?.("ready");
}
