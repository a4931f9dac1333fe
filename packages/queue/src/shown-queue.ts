/**
 * A queue as it is looked at: a page of the board holds many jobs, and any of them may be of half a gigabyte, or hold
 * texts that are no JSON. Such a job is shown by what can be said of it, beside the others.
 */
import { Job, type JobType, Queue, type QueueOptions } from "bullmq";
import type { QueueConnection } from "./fetching-worker.js";
import { cutData } from "./job-codec.js";

/** A job whose texts are longer than this together is shown by its length alone. */
const SHOWN_BYTES_MAX = 64 * 1024;
/** Digits of a time in milliseconds, and more; a producer may have set it to any text. */
const TIME_BYTES_MAX = 20;
const TIMES = ["timestamp", "processedOn", "finishedOn"];
const STATES: JobType[] = ["active", "completed", "delayed", "failed", "prioritized", "waiting", "waiting-children"];
const NOTHING = { name: "", opts: {}, progress: 0, failedReason: "", returnvalue: "null" };
const NO_COUNTS = { attemptsMade: 0, attemptsStarted: 0, stalledCounter: 0 };

type ShownData = Readonly<Record<string, string | number>>;

export class ShownQueue extends Queue {
  readonly #connection: QueueConnection;

  constructor(name: string, options: Omit<QueueOptions, "connection">, connection: QueueConnection) {
    super(name, { ...options, connection });
    this.#connection = connection;
  }

  override async getJob(jobId: string): Promise<Job | undefined> {
    const key = this.toKey(jobId);
    const fields = await this.#connection.hkeys(key);
    const lengths = await Promise.all(fields.map((field) => this.#connection.hstrlen(key, field)));
    const bytes = lengths.reduce((sum, length) => sum + length, 0);
    if (bytes > SHOWN_BYTES_MAX) {
      const times = TIMES.filter((time) => (lengths[fields.indexOf(time)] ?? 0) <= TIME_BYTES_MAX);
      return this.#standIn(jobId, cutData(bytes), times);
    }
    try {
      return await super.getJob(jobId);
    } catch (error) {
      // What BullMQ throws at a text that is no JSON, or not of the shape it expects.
      if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
      const failedReason = (await this.#connection.hget(key, "failedReason")) ?? "";
      return this.#standIn(jobId, { holdfast: "unreadable", bytes }, TIMES, failedReason);
    }
  }

  async #standIn(id: string, data: ShownData, readable: readonly string[], failedReason = ""): Promise<Job> {
    const found = await Promise.all(readable.map((time) => this.#connection.hget(this.toKey(id), time)));
    const times = Object.fromEntries(readable.flatMap((time, at) => (found[at] ? [[time, Number(found[at])]] : [])));
    const known = { timestamp: 0, ...times, id, failedReason, data: JSON.stringify(data) };
    return Job.fromJSON(this, { ...NOTHING, ...NO_COUNTS, ...known });
  }

  /** BullMQ's own reads each job twice, whole. */
  override async getJobs(types: JobType | JobType[] = STATES, start = 0, end = -1, asc = false): Promise<Job[]> {
    const ids = await this.getRanges(typeof types === "string" ? [types] : types, start, end, asc);
    const jobs = await Promise.all(ids.map((id) => this.getJob(id)));
    return jobs.filter((job) => job !== undefined);
  }

  /** They are shown to nobody, and there may be any number of them. */
  override async getJobLogs(): Promise<{ logs: string[]; count: number }> {
    return { logs: [], count: 0 };
  }
}
