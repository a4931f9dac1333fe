/** How much of what has ended is kept, and its removal in bounded steps. */
import { type Retention, retentionSchema } from "@holdfast/contract";
import type { Caller } from "./caller.js";
import { list, text, whole } from "./replies.js";
import type { RetentionStore } from "./retain-step.js";

/** Workspaces looked at in one step, about; each costs Redis some microseconds. */
const WORKSPACES_STEP = 50;
/** Records removed in one step: about 3 ms of Redis. */
const RECORDS_STEP = 200;

export function createRetentionStore(caller: Caller): RetentionStore {
  const set = async (named: Partial<Retention>): Promise<Retention> => {
    const parsed = retentionSchema.partial().parse(named);
    const fields = Object.entries(parsed).flatMap(([name, value]) => (value === undefined ? [] : [name, value]));
    const [record_ms, output_ms, records_max, records_min_ms, jobs_max] = list(
      await caller.run("retention-set", fields),
    ).map(whole);
    return retentionSchema.parse({ record_ms, output_ms, records_max, records_min_ms, jobs_max });
  };
  return {
    settings: () => set({}),
    set,
    retain: async (cursor, dry_run = false) => {
      const args = [cursor ?? "0", WORKSPACES_STEP, RECORDS_STEP, dry_run ? 1 : 0];
      const [next, seen, removed, left] = list(await caller.run("records-retain", args));
      const end = text(next) === "0";
      return { seen: whole(seen), removed: whole(removed), left: whole(left), cursor: end ? null : text(next) };
    },
  };
}
