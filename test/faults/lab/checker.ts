/** Judges a history. Pure: it sees the records alone, and each rule is proved by a history that it must reject. */
import { TIMES } from "@holdfast/contract";
import type { HistoryRecord } from "./history.js";
import { capacityRules } from "./rules-capacity.js";
import { containerRules } from "./rules-container.js";
import { eventRules } from "./rules-event.js";
import { leaseRules } from "./rules-lease.js";
import { taskRules } from "./rules-task.js";

export interface Violation {
  readonly invariant: string;
  readonly message: string;
  readonly at_ms: number;
}

export interface CheckTimes {
  readonly lease_ms: number;
  readonly grace_ms: number;
  /** How far two sightings of one moment may lie apart. */
  readonly slack_ms: number;
}

export const CHECK_TIMES: CheckTimes = {
  lease_ms: TIMES.boot_lease_ms,
  grace_ms: TIMES.outage_grace_ms,
  slack_ms: 2_500,
};

export type CheckRule = (records: readonly HistoryRecord[], times: CheckTimes) => Violation[];

const RULES: readonly CheckRule[] = [...capacityRules, ...leaseRules, ...taskRules, ...eventRules, ...containerRules];

/** Every violation of C1, C2, L1 to L4, T1 to T3, E1 to E4, V1 and Q1 that the history shows. */
export function checkHistory(records: readonly HistoryRecord[], times: CheckTimes = CHECK_TIMES): Violation[] {
  return RULES.flatMap((rule) => rule(records, times));
}
