import { describe, expect, it } from "vitest";
import { checkHistory } from "./checker.js";
import {
  at,
  beat,
  container,
  engineCall,
  event,
  goodHistory,
  grant,
  look,
  outcome,
  reservation,
  SECOND,
  seen,
  TASK,
  write,
} from "./example-history.js";
import type { HistoryRecord } from "./history.js";

/** The good history with something put in, in order of time. */
function plus(...more: readonly HistoryRecord[]): HistoryRecord[] {
  return [...goodHistory(), ...more].sort((left, right) => left.at_ms - right.at_ms);
}

function without(unwanted: (record: HistoryRecord) => boolean): HistoryRecord[] {
  return goodHistory().filter((record) => !unwanted(record));
}

function changed(when: (record: HistoryRecord) => boolean, change: object): HistoryRecord[] {
  return goodHistory().map((record) => (when(record) ? ({ ...record, ...change } as HistoryRecord) : record));
}

const found = (records: readonly HistoryRecord[]) =>
  checkHistory(records).map(({ invariant, message }) => `${invariant} ${message}`);
const idle = { b1: "DEAD", b2: "LIVE" };
const LIVE = { b1: "LIVE", b2: "LIVE" };
const third = reservation({ token: "o3", sandbox: "s3", task: "default.u" });
const fourth = reservation({ token: "o4", sandbox: "s4", task: "default.v" });
const miscounted = { ...look(650, [reservation()], LIVE), sums: {} } as HistoryRecord;
const lateRead = (change: object) => plus(event(20_600, "r1", 8, "task_log", 2, change));

const BAD: readonly (readonly [string, string, readonly HistoryRecord[]])[] = [
  [
    "more reserved than the host has",
    "C1 host:h1 holds 3 slots of 2",
    plus(look(650, [reservation(), third, fourth], LIVE)),
  ],
  ["a sum that is not what its records add up to", "C1 host:h1 is kept as", plus(miscounted)],
  [
    "one task counted twice",
    `C1 ${TASK} is counted twice`,
    plus(look(650, [reservation(), reservation({ token: "o9", sandbox: "s9" })], LIVE)),
  ],
  [
    "more sandboxes running than slots",
    "C1 3 sandboxes of tasks run on h1",
    plus(
      seen(
        620,
        ["s1", "s3", "s4"].map((sandbox, n) => container({ sandbox, id: `${n}`.repeat(64) })),
      ),
    ),
  ],
  ["capacity given back while the sandbox runs", "C2 s1 is running though", plus(seen(19_310, [container()]))],
  [
    "a reservation gone without a release while the sandbox runs",
    "C2 s1 is running though",
    plus(look(630, [], LIVE), look(640, [reservation()], LIVE), seen(645, [container()])),
  ],
  [
    "a sandbox that no grant names",
    "E1 s7 was made for a task",
    plus(
      at(640, {
        kind: "container_event",
        engine: "e1",
        id: "7",
        action: "create",
        sandbox: "s7",
        boot: "b1",
        purpose: "task",
      }),
    ),
  ],
  ["something left at rest", "Q1 a volume", plus(at(21_001, { kind: "rest", leftovers: ["a volume"] }))],
  [
    "a fence that falls",
    "L1 b1 was given fence 50 after 100",
    plus(grant(550, 1, { fence: "50", token: "o5", task: "default.u" })),
  ],
  [
    "a fence given twice",
    "L1 b1 was given fence 100 after 100",
    plus(grant(550, 1, { token: "o5", task: "default.u" })),
  ],
  [
    "a stale write that was taken",
    "fence 100 was taken after 200 had been granted",
    plus(write(19_650, 1, "append", "appended")),
  ],
  [
    "a write without a grant",
    "L2 append of default.t: b2 with fence 300",
    plus(write(550, 2, "append", "appended", { fence: "300" })),
  ],
  [
    "an earlier attempt's output after a later one began",
    "L2 r1 of default.t: task_log of attempt 1",
    lateRead({ attempt: 1 }),
  ],
  [
    "a write taken past the lease",
    "L3 write of default.t by b1, whose lease had ended",
    plus(write(12_000, 1, "append", "appended")),
  ],
  [
    "a grant to a boot past its lease",
    "L3 grant of default.w by b1",
    plus(grant(12_000, 1, { task: "default.w", token: "o6", fence: "150" })),
  ],
  ["a dead boot that lives again", "L4 b1 was DEAD and is shown as LIVE", plus(look(18_000, [reservation()], LIVE))],
  ["a dead boot whose beat is taken", "L4 b1 was DEAD and its beat was taken", plus(beat(18_000, "b1"))],
  [
    "a grant to a dead boot",
    "L4 b1 was DEAD and had a grant",
    plus(grant(18_000, 1, { task: "default.w", token: "o6", fence: "150" })),
  ],
  ["a boot buried too early", "L4 b2 was buried", plus(look(4_500, [reservation()], { b1: "LIVE", b2: "DEAD" }))],
  [
    "two outcomes",
    "T1 r2 read FAILED",
    changed((r) => r.kind === "outcome" && r.reader === "r2", { status: "FAILED", digest: "e" }),
  ],
  ["two settles that were taken", "T1 default.t was settled 2 times", plus(write(19_910, 2, "settle", "settled"))],
  [
    "an outcome that the terminal event contradicts",
    "T1 default.t: the terminal event says FAILED",
    changed((r) => r.kind === "event" && r.event === "task_finished", { status: "FAILED" }),
  ],
  ["two terminal events", "T1 default.t has 2 terminal events", plus(event(20_600, "r1", 8, "task_finished", 2))],
  [
    "an accepted task without an outcome",
    "T2 default.t was accepted and has no outcome",
    without((r) => r.kind === "outcome"),
  ],
  [
    "two bodies under one name",
    "T2 default.t was accepted with two bodies",
    plus(
      at(120, { kind: "call", call: 2, op: "submit", task: TASK, body: "y" }),
      at(130, { kind: "answer", call: 2, result: "ok", reply: "existing" }),
    ),
  ],
  [
    "a conflict with the same body",
    "T2 default.t conflicts with nothing",
    plus(
      at(120, { kind: "call", call: 2, op: "submit", task: TASK, body: "x" }),
      at(130, { kind: "answer", call: 2, result: "fail", reply: "conflict" }),
    ),
  ],
  [
    "a task there and not there",
    "T2 default.t is there for one reader",
    plus(at(20_600, { kind: "no_task", reader: "r3", task: TASK })),
  ],
  [
    "a call without an answer that left nothing to look at",
    "T2 default.u is neither there nor absent",
    plus(at(120, { kind: "call", call: 2, op: "submit", task: "default.u", body: "y" })),
  ],
  [
    "a refused task that ran",
    "T2 default.t ran though it was refused",
    changed((r) => r.kind === "answer", { result: "fail", reply: "IMAGE_NOT_ALLOWED" }),
  ],
  [
    "a cancellation that did not hold",
    "T3 a caller was told that default.t is cancelled",
    plus(
      at(120, { kind: "call", call: 2, op: "cancel", task: TASK, body: "" }),
      at(130, { kind: "answer", call: 2, result: "ok", reply: "cancelled" }),
    ),
  ],
  [
    "a cancellation that never ends",
    "T3 default.u was to be cancelled and never ended",
    plus(
      at(120, { kind: "call", call: 2, op: "cancel", task: "default.u", body: "" }),
      at(130, { kind: "answer", call: 2, result: "ok", reply: "requested" }),
    ),
  ],
  [
    "a hole in a stream",
    "V1 r1 of default.t: 4 came where 3 was due",
    without((r) => r.kind === "event" && r.reader === "r1" && r.sequence === 3),
  ],
  ["an event repeated", "V1 r1 of default.t: 7 came where 8 was due", plus(event(20_600, "r1", 7, "task_finished", 2))],
  [
    "a reader that resumes at the wrong place",
    "V1 r1 of default.t: 7 came where 4 was due",
    plus(at(20_600, { kind: "follow", reader: "r1", task: TASK, after: 3 }), event(20_601, "r1", 7, "task_log", 2)),
  ],
  [
    "output stored twice",
    "V1 r1 of default.t: events hold 5 bytes",
    changed((r) => r.kind === "outcome", { output_bytes: 10 }),
  ],
  [
    "a gap told wrongly",
    "V1 r1 of default.t: a gap from 9",
    plus(at(20_600, { kind: "gap", reader: "r1", task: TASK, from: 9, to: 10 })),
  ],
  ["an event after the terminal one", "V1 default.t has events behind", lateRead({})],
  [
    "other bytes for another reader",
    "V1 default.t: r2 read other bytes at 3",
    changed((r) => r.kind === "event" && r.reader === "r2" && r.sequence === 3, { digest: "other" }),
  ],
  [
    "a living boot's container removed by another",
    "E2 w2 sent DELETE for s1 of b1",
    plus(engineCall(15_000, "w2", "DELETE", `/containers/${container().id}`, "204")),
  ],
  [
    "a container removed at once after DEAD was seen",
    "E2 w1 sent POST for s2 of b2",
    plus(engineCall(19_750, "w1", "POST", `/containers/${SECOND.id}/kill`, "204")),
  ],
  [
    "user code before anybody looked",
    "E3 default.t began in s1 before it was verified",
    without((r) => r.kind === "engine_call" && r.method === "GET" && r.at_ms < 1_000),
  ],
  [
    "a look that came before the start",
    "E3 default.t began in s2",
    changed((r) => r.kind === "engine_call" && r.path.endsWith("/start") && r.at_ms > 1_000, { at_ms: 19_690 }),
  ],
  ["a sandbox that outlives its boot's permission", "E4 s1 runs", plus(seen(90_000, [container()]))],
  [
    "a sandbox that outlives its lifetime",
    "E4 s2 runs past its lifetime",
    plus(seen(19_810, [{ ...SECOND, age_s: 700 }])),
  ],
];

describe("the checker", () => {
  it("finds nothing in a good history with a death, a recovery and a second attempt", () => {
    expect(found(goodHistory())).toEqual([]);
  });

  it.each(BAD)("rejects %s", (_, message, records) => {
    expect(found(records).filter((line) => line.includes(message)).length).toBeGreaterThan(0);
  });

  it("lets a call without an answer be either, never both", () => {
    const call = at(120, { kind: "call", call: 2, op: "submit", task: "default.u", body: "y" });
    const unknown = at(130, { kind: "answer", call: 2, result: "unknown", reply: "LEDGER_UNAVAILABLE" });
    const absent = at(20_600, { kind: "no_task", reader: "r1", task: "default.u" });
    const ended = outcome(20_601, "r2", { task: "default.u", status: "FAILED", digest: "u", output_bytes: null });

    expect(found(plus(call, unknown, absent))).toEqual([]);
    expect(found(plus(call, unknown, ended))).toEqual([]);
    expect(found(plus(call, unknown, absent, ended))).toEqual([
      "T2 default.u is there for one reader and not for another",
    ]);
  });

  it("asks of a Redis that lost its tail only what was confirmed before", () => {
    const loss = at(20_650, { kind: "lost_tail", since_ms: 105 });
    const gone = without((record) => record.kind === "outcome" || record.kind === "event");
    const absent = at(20_700, { kind: "no_task", reader: "r1", task: TASK });

    expect(found([...gone, absent])).toContain(`T2 ${TASK} was accepted and has no outcome`);
    expect(found(plus(absent))).toContain(`T2 ${TASK} is there for one reader and not for another`);
    expect(found(plus(loss, absent))).toEqual([]);
    expect(found([...gone, loss, absent])).toEqual([]);
    expect(found(plus(look(20_640, [reservation({ token: "o2", boot: "b2", sandbox: "s2" })], idle)))).toEqual([]);
  });

  it("accepts the end of a container past its lifetime by anybody", () => {
    const old = { ...SECOND, age_s: 602 };
    const records = plus(seen(19_810, [old]), engineCall(19_820, "w1", "DELETE", `/containers/${SECOND.id}`, "204"));

    expect(found(records).filter((line) => line.startsWith("E2"))).toEqual([]);
  });
});
