/** Removes what was kept long enough: records beyond a workspace's number, and finished jobs (Q1). */
import type { Duty } from "@holdfast/chassis";
import { TIMES } from "@holdfast/contract";
import type { Ledger, RetainStep } from "@holdfast/ledger";
import type { TaskQueue } from "@holdfast/queue";
import type { Care } from "./care.js";

/** Each step is bounded; so many of them in a pass keep up with some 2,000 tasks a second. */
const STEPS_MAX = 50;

export interface RetentionDeps {
  readonly ledger: Pick<Ledger, "retention">;
  readonly queue: Pick<TaskQueue, "trimFinished">;
}

/** A type and no interface, so that it is a record of counts. */
export type Retained = {
  /** Records of ended tasks that were found. */
  readonly records: number;
  readonly records_removed: number;
  /** May be removed by now and were not. */
  readonly records_left: number;
  readonly jobs_removed: number;
  readonly jobs_left: number;
};

/** A pass goes on where the one before it stopped. */
export interface Retaining {
  pass(dry_run?: boolean): Promise<Retained>;
}

export function createRetaining({ ledger, queue }: RetentionDeps): Retaining {
  let cursor: string | null = null;

  /** The same workspaces again while something of them is left that goes. */
  function nextOf(at: string | null, step: RetainStep, dry_run: boolean): string | null {
    return !dry_run && step.left > 0 && step.removed > 0 ? (at ?? "0") : step.cursor;
  }

  async function retainRecords(dry_run: boolean) {
    let [records, removed, left] = [0, 0, 0];
    let again = false;
    for (let steps = 0; steps < STEPS_MAX || dry_run; steps += 1) {
      const step = await ledger.retention.retain(cursor, dry_run);
      const next = nextOf(cursor, step, dry_run);
      removed += step.removed;
      if (!again) records += step.seen;
      again = next === (cursor ?? "0");
      if (!again) left += step.left;
      cursor = next;
      if (cursor === null) break;
    }
    return { records, records_removed: removed, records_left: left };
  }

  return {
    pass: async (dry_run = false) => {
      const { jobs_max } = await ledger.retention.settings();
      const records = await retainRecords(dry_run);
      const jobs = await queue.trimFinished(jobs_max, dry_run);
      return { ...records, jobs_removed: jobs.removed, jobs_left: jobs.left };
    },
  };
}

export function retentionDuty(care: Care): Duty {
  const retaining = createRetaining(care);
  return {
    name: "retention",
    every_ms: TIMES.retention_ms,
    runOnce: async () => {
      if (!care.lease.mayAct()) return {};
      const counts = await retaining.pass();
      care.metrics.retention_removed_total.add(counts.records_removed, { kind: "record" });
      care.metrics.retention_removed_total.add(counts.jobs_removed, { kind: "job" });
      return counts;
    },
  };
}
