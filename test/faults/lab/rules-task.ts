/** T1 to T3: one outcome for each accepted task, the same for everybody, and cancellations that hold. */
import type { CheckRule, Violation } from "./checker.js";
import { allOf, groupBy, type HistoryRecord, mayBeLost } from "./history.js";

const TAKEN = new Set(["accepted", "existing"]);

interface AnsweredCall {
  readonly task: string;
  readonly op: string;
  readonly body: string;
  readonly reply: string;
  readonly result: string;
  readonly at_ms: number;
}

/** A call without an answer may have been applied or not. */
function answered(records: readonly HistoryRecord[]): AnsweredCall[] {
  const answers = new Map(allOf(records, "answer").map((answer) => [answer.call, answer]));
  return allOf(records, "call").map(({ call, task, op, body, at_ms }) => {
    const { reply = "", result = "unknown", at_ms: end_ms = at_ms } = answers.get(call) ?? {};
    return { task, op, body, reply, result, at_ms: end_ms };
  });
}

/** Outcomes that a reader can be held to. */
function keptOutcomes(records: readonly HistoryRecord[]) {
  const lost = mayBeLost(records);
  return allOf(records, "outcome").filter(({ at_ms }) => !lost(at_ms));
}

const oneOutcome: CheckRule = (records) => {
  const found: Violation[] = [];
  for (const [task, outcomes] of groupBy(keptOutcomes(records), (outcome) => outcome.task)) {
    const [first] = outcomes;
    for (const { reader, digest, status, at_ms } of outcomes) {
      if (digest === first?.digest) continue;
      const message = `${reader} read ${status} of ${task}, ${first?.reader} read ${first?.status} in other bytes`;
      found.push({ invariant: "T1", message, at_ms });
    }
  }
  const lost = mayBeLost(records);
  const settles = allOf(records, "write").filter(({ op, reply }) => op === "settle" && reply === "settled");
  for (const [task, ofTask] of groupBy(settles, (settle) => settle.task)) {
    const kept = ofTask.filter(({ at_ms }) => !lost(at_ms));
    if (kept.length > 1) {
      found.push({ invariant: "T1", message: `${task} was settled ${kept.length} times`, at_ms: kept[1]?.at_ms ?? 0 });
    }
  }
  return found;
};

const nothingLost: CheckRule = (records) => {
  const outcomes = new Set(keptOutcomes(records).map(({ task }) => task));
  const absent = new Set(allOf(records, "no_task").map(({ task }) => task));
  const lost = mayBeLost(records);
  const found: Violation[] = [];
  for (const [task, calls] of groupBy(
    answered(records).filter(({ op }) => op === "submit"),
    (call) => call.task,
  )) {
    const taken = calls.filter(({ reply }) => TAKEN.has(reply));
    const at_ms = taken[0]?.at_ms ?? calls[0]?.at_ms ?? 0;
    const note = (message: string) => found.push({ invariant: "T2", message: `${task} ${message}`, at_ms });
    const bodies = new Set(taken.map(({ body }) => body));
    const sent = new Set(calls.map(({ body }) => body));
    if (bodies.size > 1) note("was accepted with two bodies");
    if (calls.some(({ reply }) => reply === "conflict") && sent.size < 2) note("conflicts with nothing");
    const everTaken = taken.length > 0 && !taken.every((call) => lost(call.at_ms));
    if (everTaken && !outcomes.has(task)) note("was accepted and has no outcome");
    if (outcomes.has(task) && absent.has(task)) note("is there for one reader and not for another");
    if (!everTaken && !outcomes.has(task) && !absent.has(task)) note("is neither there nor absent");
    if (outcomes.has(task) && calls.every(({ result }) => result === "fail")) note("ran though it was refused");
  }
  return found;
};

const cancellationHolds: CheckRule = (records) => {
  const outcomes = new Map(keptOutcomes(records).map(({ task, status }) => [task, status]));
  const lost = mayBeLost(records);
  const told = answered(records).filter(
    ({ op, reply, at_ms }) => op === "cancel" && reply === "cancelled" && !lost(at_ms),
  );
  return told.flatMap(({ task, at_ms }) => {
    const status = outcomes.get(task);
    if (status === "CANCELLED") return [];
    return [{ invariant: "T3", message: `a caller was told that ${task} is cancelled; it ended ${status}`, at_ms }];
  });
};

const cancellationEnds: CheckRule = (records) => {
  const outcomes = new Set(allOf(records, "outcome").map(({ task }) => task));
  const lost = mayBeLost(records);
  const wanted = answered(records).filter(
    ({ op, reply, at_ms }) => op === "cancel" && reply === "requested" && !lost(at_ms),
  );
  return wanted
    .filter(({ task }) => !outcomes.has(task))
    .map(({ task, at_ms }) => ({ invariant: "T3", message: `${task} was to be cancelled and never ended`, at_ms }));
};

export const taskRules: readonly CheckRule[] = [oneOutcome, nothingLost, cancellationHolds, cancellationEnds];
