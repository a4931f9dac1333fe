/** How much of what has ended a fleet keeps: facts of the ledger, the same for every program of the fleet. */
import { z } from "zod";
import { TIMES } from "./times.js";

const DAY_MS = 24 * 3_600_000;
const ms = z.int().min(0);

export const retentionSchema = z.object({
  /** Records and events are kept this long from a task's end; it holds for tasks that end from then on. */
  record_ms: ms.min(60_000).max(30 * DAY_MS),
  /** Output text and log bodies likewise, and never longer than the record. */
  output_ms: ms.min(60_000).max(30 * DAY_MS),
  /** Records of ended tasks that a workspace keeps; 0 for any number. */
  records_max: z.int().min(0),
  /** No record is removed for the sake of `records_max` before it is this old. */
  records_min_ms: ms.max(DAY_MS),
  /** Finished jobs that the shared queue keeps. More than 1,000 BullMQ removes by itself. */
  jobs_max: z.int().min(0).max(1_000),
});
export type Retention = z.infer<typeof retentionSchema>;

export const RETENTION_DEFAULTS: Retention = {
  record_ms: TIMES.record_retention_ms,
  output_ms: TIMES.output_retention_ms,
  records_max: 10_000,
  records_min_ms: 600_000,
  jobs_max: 1_000,
};
