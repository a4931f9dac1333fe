/** V1: what each reader of a task's events saw, alone and beside the others. */
import type { CheckRule, Violation } from "./checker.js";
import { allOf, groupBy, type HistoryRecord, mayBeLost } from "./history.js";

type Item = Extract<HistoryRecord, { kind: "event" | "gap" | "follow" }>;

function items(records: readonly HistoryRecord[]): Item[] {
  return records.filter((record): record is Item => ["event", "gap", "follow"].includes(record.kind));
}

/** One reading: from its cursor on without hole, repeat or reorder; holes are told. */
const withoutHole: CheckRule = (records) => {
  const found: Violation[] = [];
  for (const [name, reading] of groupBy(items(records), ({ reader, task }) => `${reader} of ${task}`)) {
    let expected = 1;
    let finished = false;
    for (const item of reading) {
      const note = (message: string) =>
        found.push({ invariant: "V1", message: `${name}: ${message}`, at_ms: item.at_ms });
      if (item.kind === "follow") {
        expected = item.after + 1;
      } else if (item.kind === "gap") {
        if (item.from !== expected) note(`a gap from ${item.from} where ${expected} was due`);
        expected = item.to + 1;
      } else {
        if (item.sequence !== expected) note(`${item.sequence} came where ${expected} was due`);
        if (finished && item.event !== "task_finished") note(`${item.event} came after the end`);
        expected = item.sequence + 1;
        finished ||= item.event === "task_finished";
      }
    }
  }
  return found;
};

const sameForAll: CheckRule = (records) => {
  const found: Violation[] = [];
  const lost = mayBeLost(records);
  const kept = allOf(records, "event").filter(({ at_ms }) => !lost(at_ms));
  for (const [task, events] of groupBy(kept, (event) => event.task)) {
    const ends = new Set<number>();
    let last = 0;
    for (const [sequence, twins] of groupBy(events, (event) => `${event.sequence}`)) {
      last = Math.max(last, Number(sequence));
      if (twins.some(({ event }) => event === "task_finished")) ends.add(Number(sequence));
      const other = twins.find(({ digest }) => digest !== twins[0]?.digest);
      if (other === undefined) continue;
      const message = `${task}: ${other.reader} read other bytes at ${sequence} than ${twins[0]?.reader}`;
      found.push({ invariant: "V1", message, at_ms: other.at_ms });
    }
    const at_ms = events.at(-1)?.at_ms ?? 0;
    if (ends.size > 1) found.push({ invariant: "T1", message: `${task} has ${ends.size} terminal events`, at_ms });
    if (ends.size > 0 && !ends.has(last)) {
      found.push({ invariant: "V1", message: `${task} has events behind its terminal one`, at_ms });
    }
  }
  return found;
};

/** Attempts follow each other in a stream: nothing of an earlier one comes after a later one began. */
const attemptsRise: CheckRule = (records) => {
  const found: Violation[] = [];
  for (const [name, reading] of groupBy(allOf(records, "event"), ({ reader, task }) => `${reader} of ${task}`)) {
    let attempt = 0;
    for (const event of reading) {
      if (event.attempt < attempt) {
        const message = `${name}: ${event.event} of attempt ${event.attempt} after attempt ${attempt} had begun`;
        found.push({ invariant: "L2", message, at_ms: event.at_ms });
      }
      if (event.event === "task_started") attempt = event.attempt;
    }
  }
  return found;
};

const endsAgree: CheckRule = (records) => {
  const statuses = new Map(allOf(records, "outcome").map(({ task, status }) => [task, status]));
  return allOf(records, "event")
    .filter(
      ({ event, task, status }) => event === "task_finished" && statuses.has(task) && statuses.get(task) !== status,
    )
    .map(({ task, status, at_ms }) => ({
      invariant: "T1",
      message: `${task}: the terminal event says ${status}, the outcome ${statuses.get(task)}`,
      at_ms,
    }));
};

/** A reading from the first event to the last without a gap holds exactly the output that the outcome counts. */
const outputWhole: CheckRule = (records) => {
  if (allOf(records, "lost_tail").length > 0) return [];
  const ends = new Map(allOf(records, "outcome").map((outcome) => [outcome.task, outcome]));
  const found: Violation[] = [];
  for (const [name, reading] of groupBy(allOf(records, "event"), ({ reader, task }) => `${reader} of ${task}`)) {
    const events = [...new Map(reading.map((event) => [event.sequence, event])).values()];
    const last = events.at(-1);
    const end = ends.get(last?.task ?? "");
    if (last?.event !== "task_finished" || events.length !== last.sequence || end?.output_bytes == null) continue;
    const ofEnd = events.filter(({ attempt }) => attempt === end.attempt);
    const bytes = ofEnd.reduce((sum, event) => sum + event.bytes, 0);
    if (bytes === end.output_bytes) continue;
    const message = `${name}: events hold ${bytes} bytes of output, the outcome counts ${end.output_bytes}`;
    found.push({ invariant: "V1", message, at_ms: last.at_ms });
  }
  return found;
};

export const eventRules: readonly CheckRule[] = [outputWhole, withoutHole, sameForAll, attemptsRise, endsAgree];
