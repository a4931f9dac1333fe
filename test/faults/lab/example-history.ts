/**
 * A good history by hand: worker w1 runs `default.t` in `s1` and is killed; the boot is buried, w2 runs the second
 * attempt in `s2` and settles; two readers read the same; at rest nothing is left.
 */
import type { Entry, HistoryRecord, SeenAmount, SeenContainer, SeenReservation } from "./history.js";

export const AMOUNT: SeenAmount = { slots: 1, cpu_milli: 500, memory_mb: 256, pids: 128 };
export const TASK = "default.t";

export function at(at_ms: number, entry: Entry): HistoryRecord {
  return { at_ms, ...entry };
}

export function reservation(change: Partial<SeenReservation> = {}): SeenReservation {
  return { token: "o1", state: "active", boot: "b1", host: "h1", task: TASK, sandbox: "s1", amount: AMOUNT, ...change };
}

export function container(change: Partial<SeenContainer> = {}): SeenContainer {
  const id = "1".repeat(64);
  return { id, sandbox: "s1", boot: "b1", purpose: "task", state: "running", age_s: 1, lifetime_s: 600, ...change };
}

export const SECOND = container({ id: "2".repeat(64), sandbox: "s2", boot: "b2" });

export function look(
  at_ms: number,
  reservations: readonly SeenReservation[],
  boots: Readonly<Record<string, string>>,
): HistoryRecord {
  const limits = { "host:h1": { slots: 2, cpu_milli: 2_000, memory_mb: 2_000, pids: 2_000 } };
  const tasks = new Set(reservations.map(({ task }) => task));
  const times = (n: number) => ({ slots: n, cpu_milli: 500 * n, memory_mb: 256 * n, pids: 128 * n });
  const shared = tasks.size === 0 ? {} : { "workspace:default": times(tasks.size), "fleet:all": times(tasks.size) };
  const sums = reservations.length === 0 ? {} : { "host:h1": times(reservations.length), ...shared };
  return at(at_ms, { kind: "ledger", from_ms: at_ms - 2, reservations, limits, sums, boots });
}

export function seen(at_ms: number, containers: readonly SeenContainer[]): HistoryRecord {
  return at(at_ms, { kind: "containers", engine: "e1", from_ms: at_ms - 2, seen: containers });
}

export function beat(at_ms: number, boot: string, reply = "ok"): HistoryRecord {
  return at(at_ms, { kind: "beat", actor: boot.replace("b", "w"), boot, sent_ms: at_ms - 2, reply });
}

export function grant(at_ms: number, n: 1 | 2, change: Partial<Extract<Entry, { kind: "grant" }>> = {}): HistoryRecord {
  return at(at_ms, {
    ...{ kind: "grant", actor: `w${n}`, boot: `b${n}`, host: "h1", task: TASK, attempt: n, generation: n },
    ...{ fence: `${n}00`, token: `o${n}`, sandbox: `s${n}`, sent_ms: at_ms - 2 },
    ...change,
  });
}

export function write(
  at_ms: number,
  n: 1 | 2,
  op: Extract<Entry, { kind: "write" }>["op"],
  reply: string,
  change: Partial<Extract<Entry, { kind: "write" }>> = {},
): HistoryRecord {
  const holder = { actor: `w${n}`, boot: `b${n}`, task: TASK, token: `o${n}`, fence: `${n}00` };
  return at(at_ms, { kind: "write", op, ...holder, sent_ms: at_ms - 2, reply, ...change });
}

export function engineCall(at_ms: number, actor: string, method: string, path: string, status: string): HistoryRecord {
  return at(at_ms, { kind: "engine_call", actor, method, path, sent_ms: at_ms - 2, status });
}

export function event(
  at_ms: number,
  reader: string,
  sequence: number,
  name: string,
  attempt: number,
  change: Partial<Extract<Entry, { kind: "event" }>> = {},
): HistoryRecord {
  const status = name === "task_finished" ? "SUCCEEDED" : null;
  const digest = `${sequence} ${name}`;
  const bytes = name === "task_log" ? 5 : 0;
  const seen = { reader, task: TASK, sequence, event: name, attempt, digest, bytes, status };
  return at(at_ms, { kind: "event", ...seen, ...change });
}

export function outcome(
  at_ms: number,
  reader: string,
  change: Partial<Extract<Entry, { kind: "outcome" }>> = {},
): HistoryRecord {
  const end = { task: TASK, status: "SUCCEEDED", digest: "d", attempt: 2, output_bytes: 5 };
  return at(at_ms, { kind: "outcome", reader, ...end, ...change });
}

function made(at_ms: number, one: SeenContainer, actor: string): HistoryRecord[] {
  const { id, sandbox, boot, purpose } = one;
  return [
    at(at_ms, { kind: "container_event", engine: "e1", id, action: "create", sandbox, boot, purpose }),
    engineCall(at_ms + 10, actor, "POST", "/containers/create", "201"),
    engineCall(at_ms + 20, actor, "POST", `/containers/${id}/start`, "204"),
    engineCall(at_ms + 30, actor, "GET", `/containers/${id}/json`, "200"),
  ];
}

function reading(at_ms: number, reader: string): HistoryRecord[] {
  return [
    at(at_ms, { kind: "follow", reader, task: TASK, after: 0 }),
    event(at_ms, reader, 1, "task_accepted", 0),
    event(at_ms, reader, 2, "task_started", 1),
    event(at_ms, reader, 3, "task_log", 1),
    event(at_ms, reader, 4, "task_requeued", 1),
    event(at_ms, reader, 5, "task_started", 2),
    event(at_ms, reader, 6, "task_log", 2),
    event(at_ms, reader, 7, "task_finished", 2),
    outcome(at_ms, reader),
  ];
}

export function goodHistory(): HistoryRecord[] {
  return [
    at(10, { kind: "boot", actor: "w1", boot: "b1", host: "h1" }),
    at(11, { kind: "boot", actor: "w2", boot: "b2", host: "h1" }),
    beat(20, "b1"),
    beat(21, "b2"),
    at(100, { kind: "call", call: 1, op: "submit", task: TASK, body: "x" }),
    at(110, { kind: "answer", call: 1, result: "ok", reply: "accepted" }),
    grant(200, 1),
    ...made(300, container(), "w1"),
    write(400, 1, "activate", "active"),
    write(500, 1, "append", "appended"),
    look(600, [reservation()], { b1: "LIVE", b2: "LIVE" }),
    seen(610, [container()]),
    at(700, { kind: "process", actor: "w1", did: "SIGKILL" }),
    ...[2_000, 4_000, 6_000, 8_000, 10_000, 12_000, 14_000, 16_000, 18_000].map((ms) => beat(ms, "b2")),
    look(10_000, [reservation()], { b1: "LIVE", b2: "LIVE" }),
    look(16_000, [reservation()], { b1: "LIVE", b2: "LIVE" }),
    look(17_000, [reservation()], { b1: "DEAD", b2: "LIVE" }),
    engineCall(19_100, "w2", "DELETE", `/containers/${container().id}`, "204"),
    at(19_200, {
      kind: "release",
      actor: "w2",
      boot: "b1",
      task: TASK,
      token: "o1",
      sent_ms: 19_190,
      reply: "released",
    }),
    seen(19_300, []),
    look(19_400, [], { b1: "DEAD", b2: "LIVE" }),
    grant(19_500, 2),
    ...made(19_600, SECOND, "w2"),
    write(19_700, 2, "activate", "active"),
    seen(19_800, [SECOND]),
    look(19_850, [reservation({ token: "o2", boot: "b2", sandbox: "s2" })], { b1: "DEAD", b2: "LIVE" }),
    write(19_900, 2, "settle", "settled"),
    engineCall(20_000, "w2", "DELETE", `/containers/${SECOND.id}`, "204"),
    at(20_100, {
      kind: "release",
      actor: "w2",
      boot: "b2",
      task: TASK,
      token: "o2",
      sent_ms: 20_090,
      reply: "released",
    }),
    seen(20_200, []),
    look(20_300, [], { b1: "DEAD", b2: "LIVE" }),
    ...reading(20_400, "r1"),
    ...reading(20_500, "r2"),
    at(21_000, { kind: "rest", leftovers: [] }),
  ];
}
