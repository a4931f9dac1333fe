/** L1 to L4: fences, stale writers, ended leases, dead boots. */
import type { CheckRule, Violation } from "./checker.js";
import { allOf, groupBy, type HistoryRecord } from "./history.js";

function compare(left: string, right: string): number {
  if (left.length !== right.length) return left.length - right.length;
  return left < right ? -1 : left > right ? 1 : 0;
}

/** A grant may be answered again to the boot that has it; these are the first answers. */
function firstGrants(records: readonly HistoryRecord[]) {
  const groups = groupBy(allOf(records, "grant"), ({ boot, fence, token }) => `${boot} ${fence} ${token}`);
  return [...groups.values()].flatMap((group) => group.slice(0, 1));
}

const fencesRise: CheckRule = (records) => {
  const found: Violation[] = [];
  for (const [boot, grants] of groupBy(firstGrants(records), (grant) => grant.boot)) {
    for (const [index, grant] of grants.entries()) {
      const before = grants[index - 1];
      if (before !== undefined && compare(grant.fence, before.fence) <= 0) {
        const message = `${boot} was given fence ${grant.fence} after ${before.fence}`;
        found.push({ invariant: "L1", message, at_ms: grant.at_ms });
      }
    }
  }
  return found;
};

const ACCEPTED = new Set(["active", "appended", "settled", "requeued"]);

function acceptedWrites(records: readonly HistoryRecord[]) {
  return allOf(records, "write").filter(({ reply }) => ACCEPTED.has(reply));
}

/** Accepted although a later grant of the task had been answered before the write was sent. */
const onlyCurrentWrites: CheckRule = (records) => {
  const grants = groupBy(allOf(records, "grant"), ({ task }) => task);
  return acceptedWrites(records).flatMap((write) => {
    const ofTask = grants.get(write.task) ?? [];
    const later = ofTask.find((grant) => grant.at_ms < write.sent_ms && compare(grant.fence, write.fence) > 0);
    const own = ofTask.some(
      ({ fence, boot, token }) => fence === write.fence && boot === write.boot && token === write.token,
    );
    const note = (message: string) => [
      { invariant: "L2", message: `${write.op} of ${write.task}: ${message}`, at_ms: write.at_ms },
    ];
    if (later !== undefined) return note(`fence ${write.fence} was taken after ${later.fence} had been granted`);
    return own ? [] : note(`${write.boot} with fence ${write.fence} holds no grant`);
  });
};

interface Span {
  readonly from_ms: number;
  /** Latest end the ledger can have meant. */
  to_ms: number;
}

/** When each boot's lease stood, as the answers of the ledger tell it. */
function leases(records: readonly HistoryRecord[], lease_ms: number): Map<string, Span[]> {
  const spans = new Map<string, Span[]>();
  const starts = allOf(records, "boot").map(({ boot, at_ms }) => ({ boot, from_ms: at_ms - lease_ms, at_ms }));
  const beats = allOf(records, "beat")
    .filter(({ reply }) => reply === "ok")
    .map(({ boot, sent_ms, at_ms }) => ({ boot, from_ms: sent_ms, at_ms }));
  for (const { boot, from_ms, at_ms } of [...starts, ...beats]) {
    const ofBoot = spans.get(boot) ?? [];
    spans.set(boot, ofBoot);
    ofBoot.push({ from_ms, to_ms: at_ms + lease_ms });
  }
  return spans;
}

/** Nothing is granted to a boot, and nothing taken from it, that was sent after its lease had ended. */
const nothingPastLease: CheckRule = (records, { lease_ms, slack_ms }) => {
  const spans = leases(records, lease_ms);
  const effects = [...acceptedWrites(records), ...allOf(records, "grant")];
  return effects.flatMap((effect) => {
    const stands = (spans.get(effect.boot) ?? []).some(
      ({ from_ms, to_ms }) => from_ms <= effect.at_ms && effect.sent_ms <= to_ms + slack_ms,
    );
    const message = `${effect.kind} of ${effect.task} by ${effect.boot}, whose lease had ended`;
    return stands ? [] : [{ invariant: "L3", message, at_ms: effect.at_ms }];
  });
};

/** First sighting of each boot's death. */
function deaths(records: readonly HistoryRecord[]): Map<string, number> {
  const found = new Map<string, number>();
  const note = (boot: string, at_ms: number) => found.set(boot, Math.min(at_ms, found.get(boot) ?? at_ms));
  for (const { at_ms, boots } of allOf(records, "ledger")) {
    for (const [boot, state] of Object.entries(boots)) if (state === "DEAD") note(boot, at_ms);
  }
  for (const { boot, reply, at_ms } of allOf(records, "beat")) if (reply === "dead") note(boot, at_ms);
  return found;
}

const deadStaysDead: CheckRule = (records) => {
  const dead = deaths(records);
  const note = (boot: string, at_ms: number, what: string): Violation => ({
    invariant: "L4",
    message: `${boot} was DEAD and ${what}`,
    at_ms,
  });
  const isDead = (boot: string, at_ms: number) => (dead.get(boot) ?? Number.POSITIVE_INFINITY) < at_ms;
  const shown = allOf(records, "ledger").flatMap(({ from_ms, boots }) =>
    Object.entries(boots)
      .filter(([boot, state]) => state !== "DEAD" && isDead(boot, from_ms))
      .map(([boot, state]) => note(boot, from_ms, `is shown as ${state}`)),
  );
  const beats = allOf(records, "beat").filter(({ boot, sent_ms, reply }) => reply === "ok" && isDead(boot, sent_ms));
  const effects = [...acceptedWrites(records), ...allOf(records, "grant")].filter(({ boot, sent_ms }) =>
    isDead(boot, sent_ms),
  );
  return [
    ...shown,
    ...beats.map(({ boot, at_ms }) => note(boot, at_ms, "its beat was taken")),
    ...effects.map(({ boot, at_ms, kind }) => note(boot, at_ms, `had a ${kind}`)),
  ];
};

/** A boot that was buried by others had been silent for a whole lease. */
const deadNeedsProof: CheckRule = (records, { lease_ms }) => {
  const retired = new Set(allOf(records, "retired").map(({ boot }) => boot));
  const beats = groupBy(
    allOf(records, "beat").filter(({ reply }) => reply === "ok"),
    ({ boot }) => boot,
  );
  return [...deaths(records)].flatMap(([boot, at_ms]) => {
    if (retired.has(boot)) return [];
    const last = (beats.get(boot) ?? []).filter((beat) => beat.at_ms <= at_ms).at(-1);
    if (last === undefined || at_ms - last.sent_ms >= lease_ms) return [];
    const message = `${boot} was buried ${Math.round(at_ms - last.sent_ms)} ms after a beat that was taken`;
    return [{ invariant: "L4", message, at_ms }];
  });
};

export const leaseRules: readonly CheckRule[] = [
  fencesRise,
  onlyCurrentWrites,
  nothingPastLease,
  deadStaysDead,
  deadNeedsProof,
];
