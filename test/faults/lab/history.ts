/**
 * What a run saw, one record a line, with monotonic milliseconds of the laboratory's own process: calls of clients,
 * scripts as they passed the proxies, samples of the ledger and of the engines, what readers read, what was killed.
 * A request is sighted when the proxy has it, a reply when the server gave it: also where the client never got it.
 */
import { appendFileSync, writeFileSync } from "node:fs";
import { monotonicMs } from "./proxy-rules.js";

/** `<workspace>.<task>`. */
export type TaskKey = string;

export interface SeenReservation {
  readonly token: string;
  readonly state: string;
  readonly boot: string;
  readonly host: string;
  readonly task: TaskKey;
  readonly sandbox: string;
  readonly amount: SeenAmount;
}

export interface SeenAmount {
  readonly slots: number;
  readonly cpu_milli: number;
  readonly memory_mb: number;
  readonly pids: number;
}

export interface SeenContainer {
  readonly id: string;
  readonly sandbox: string;
  readonly boot: string;
  readonly purpose: string;
  readonly state: string;
  /** By the engine's clock, in seconds. */
  readonly age_s: number;
  readonly lifetime_s: number;
}

export type Operation = "submit" | "cancel";
export type WriteName = "activate" | "append" | "settle" | "requeue";

export type Entry =
  | {
      readonly kind: "call";
      readonly call: number;
      readonly op: Operation;
      readonly task: TaskKey;
      readonly body: string;
    }
  /** `reply`: accepted, existing, conflict, refused; cancelled, requested, finished; or the code of an error. */
  | {
      readonly kind: "answer";
      readonly call: number;
      readonly result: "ok" | "fail" | "unknown";
      readonly reply: string;
    }
  | {
      readonly kind: "outcome";
      readonly reader: string;
      readonly task: TaskKey;
      readonly status: string;
      readonly digest: string;
      readonly attempt: number;
      /** Both streams together; null where nothing ran. */
      readonly output_bytes: number | null;
    }
  /** No such task, as a reader was told after the faults had stopped. */
  | { readonly kind: "no_task"; readonly reader: string; readonly task: TaskKey }
  | { readonly kind: "follow"; readonly reader: string; readonly task: TaskKey; readonly after: number }
  | {
      readonly kind: "event";
      readonly reader: string;
      readonly task: TaskKey;
      readonly sequence: number;
      readonly event: string;
      readonly attempt: number;
      readonly digest: string;
      /** Bytes of output that a task_log stands for, also those it tells as dropped. */
      readonly bytes: number;
      /** Of task_finished. */
      readonly status: string | null;
    }
  | {
      readonly kind: "gap";
      readonly reader: string;
      readonly task: TaskKey;
      readonly from: number;
      readonly to: number;
    }
  | { readonly kind: "boot"; readonly actor: string; readonly boot: string; readonly host: string }
  | {
      readonly kind: "beat";
      readonly actor: string;
      readonly boot: string;
      readonly sent_ms: number;
      readonly reply: string;
    }
  | { readonly kind: "retired"; readonly actor: string; readonly boot: string; readonly sent_ms: number }
  | {
      readonly kind: "grant";
      readonly actor: string;
      readonly boot: string;
      readonly host: string;
      readonly task: TaskKey;
      readonly attempt: number;
      readonly generation: number;
      readonly fence: string;
      readonly token: string;
      readonly sandbox: string;
      readonly sent_ms: number;
    }
  | {
      readonly kind: "write";
      readonly op: WriteName;
      readonly actor: string;
      readonly boot: string;
      readonly task: TaskKey;
      readonly token: string;
      readonly fence: string;
      readonly sent_ms: number;
      readonly reply: string;
    }
  | {
      readonly kind: "release";
      readonly actor: string;
      readonly boot: string;
      readonly task: TaskKey;
      readonly token: string;
      readonly sent_ms: number;
      readonly reply: string;
    }
  /** One atomic look at the ledger, begun at `from_ms`. */
  | {
      readonly kind: "ledger";
      readonly from_ms: number;
      readonly reservations: readonly SeenReservation[];
      /** By scope, such as `host:h1`; what is not limited is absent. */
      readonly limits: Readonly<Record<string, SeenAmount>>;
      readonly sums: Readonly<Record<string, SeenAmount>>;
      /** State by boot. */
      readonly boots: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: "containers";
      readonly engine: string;
      readonly from_ms: number;
      readonly seen: readonly SeenContainer[];
    }
  | {
      readonly kind: "engine_call";
      readonly actor: string;
      readonly method: string;
      readonly path: string;
      readonly sent_ms: number;
      readonly status: string;
    }
  /** As the engine tells it: create, start, kill, die, destroy. */
  | {
      readonly kind: "container_event";
      readonly engine: string;
      readonly id: string;
      readonly action: string;
      readonly sandbox: string;
      readonly boot: string;
      readonly purpose: string;
    }
  | { readonly kind: "process"; readonly actor: string; readonly did: string }
  /** Redis came back without what it had confirmed: from the record at `since_ms` on, what was told may be untrue. */
  | { readonly kind: "lost_tail"; readonly since_ms: number }
  | { readonly kind: "rest"; readonly leftovers: readonly string[] };

export type HistoryRecord = Entry & { readonly at_ms: number };

export interface History {
  readonly records: readonly HistoryRecord[];
  readonly file: string;
  add(entry: Entry): void;
  /** Number of a new call. */
  nextCall(): number;
}

/** Each record is written at once, so that a run that dies leaves its history. */
export function openHistory(file: string): History {
  const records: HistoryRecord[] = [];
  let calls = 0;
  writeFileSync(file, "");
  return {
    records,
    file,
    add: (entry) => {
      const record = { at_ms: monotonicMs(), ...entry };
      records.push(record);
      appendFileSync(file, `${JSON.stringify(record)}\n`);
    },
    nextCall: () => {
      calls += 1;
      return calls;
    },
  };
}

type Of<Kind extends Entry["kind"]> = Extract<HistoryRecord, { kind: Kind }>;

/** All records of one kind, oldest first. */
export function allOf<Kind extends Entry["kind"]>(records: readonly HistoryRecord[], kind: Kind): Of<Kind>[] {
  return records.filter((record): record is Of<Kind> => record.kind === kind);
}

/** Whether what was told at a moment may have been lost since: Redis came back without it. */
export function mayBeLost(records: readonly HistoryRecord[]): (at_ms: number) => boolean {
  const losses = allOf(records, "lost_tail");
  return (at_ms) => losses.some((loss) => at_ms >= loss.since_ms && at_ms <= loss.at_ms);
}

export function groupBy<Item>(items: readonly Item[], key: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group === undefined) groups.set(key(item), [item]);
    else group.push(item);
  }
  return groups;
}
