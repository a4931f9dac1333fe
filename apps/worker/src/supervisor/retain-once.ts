/** Retention at an operator's word: all that may go by now goes at once, or is counted. */
import type { Retention } from "@holdfast/contract";
import { openLedger } from "@holdfast/ledger";
import { openTaskQueue } from "@holdfast/queue";
import { createRetaining, type Retained, type RetentionDeps } from "../duties/retention.js";

export interface RetainOptions {
  readonly redis_url: string;
  readonly prefix: string;
  readonly queue_prefix: string;
  readonly fail_fast_ms: number;
  /** Counts what would go and removes nothing. */
  readonly dry_run: boolean;
}

export interface RetainReport extends Retained {
  readonly settings: Retention;
}

/** Passes until nothing is left that goes, or a pass removed nothing. */
async function passes(deps: RetentionDeps, dry_run: boolean): Promise<Retained> {
  const retaining = createRetaining(deps);
  let all = await retaining.pass(dry_run);
  for (let last = all; !dry_run && last.records_left + last.jobs_left > 0; ) {
    last = await retaining.pass();
    const records_removed = all.records_removed + last.records_removed;
    const jobs_removed = all.jobs_removed + last.jobs_removed;
    all = { ...all, records_removed, jobs_removed, records_left: last.records_left, jobs_left: last.jobs_left };
    if (last.records_removed + last.jobs_removed === 0) break;
  }
  return all;
}

export async function retainOnce(options: RetainOptions): Promise<RetainReport> {
  const { redis_url: url, prefix, queue_prefix, fail_fast_ms, dry_run } = options;
  const ledger = await openLedger({ url, prefix, role: "retention", fail_fast_ms });
  const queue = openTaskQueue({ ledger, prefix: queue_prefix, fail_fast_ms });
  try {
    return { settings: await ledger.retention.settings(), ...(await passes({ ledger, queue }, dry_run)) };
  } finally {
    await queue.close();
    await ledger.close();
  }
}
