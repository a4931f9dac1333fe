/**
 * Carries a command's output into the ledger, in order, under one grant (L2, V1).
 * While the lease stands a full buffer holds the command back; past it the code runs on by its permission to live,
 * and what does not fit is dropped and counted.
 */
import { monotonicMs, pause } from "@holdfast/chassis";
import type { AppendBody, StreamName } from "@holdfast/contract";
import type { AppendReply } from "@holdfast/ledger";
import { createLostOutput } from "./lost-output.js";
import { createPendingOutput } from "./pending-output.js";

export interface OutputLogOptions {
  /** Last sequence number this grant knows. */
  readonly sequence: number;
  append(expected_sequence: number, bodies: readonly AppendBody[]): Promise<AppendReply>;
  /** Waits until this worker may write; false where it never may again. */
  whenMayAct(): Promise<boolean>;
  mayAct(): boolean;
  onDropped?(bytes: number): void;
  readonly batch_ms?: number;
  /** How long an append may be answered by errors before its output is dropped and counted. */
  readonly give_up_ms?: number;
  readonly pending_bytes_max?: number;
}

export interface OutputLog {
  /** Resolves when there is room for more. */
  write(stream: StreamName, chunk: Buffer): Promise<void> | void;
  progress(line: Record<string, unknown>): void;
  /** Stores the rest at once. Resolves when it is stored, or can never be. */
  close(): Promise<void>;
  /** Throws away what is not stored. */
  stop(): void;
  /** Resolves where the ledger refused this grant: somebody else has the task, or nobody. */
  readonly fenced: Promise<void>;
}

const BATCH_MS = 50;
const BATCH_BYTES = 16 * 1_024;
const PENDING_BYTES_MAX = 4 * 1_024 * 1_024;
const RETRY_MS = 200;
const GIVE_UP_MS = 15_000;
/** How often a held back command looks whether the lease still stands. */
const HELD_BACK_LOOK_MS = 250;

/** A call that many wait for and one rings. */
function bell() {
  let ring: () => void = () => {};
  let rung = new Promise<void>((resolve) => {
    ring = resolve;
  });
  return {
    ring(): void {
      ring();
      rung = new Promise((resolve) => {
        ring = resolve;
      });
    },
    wait: (ms: number): Promise<void> => {
      const abort = new AbortController();
      return Promise.race([rung, pause(ms, abort.signal)]).finally(() => abort.abort());
    },
  };
}

export function createOutputLog(options: OutputLogOptions): OutputLog {
  const pending = createPendingOutput();
  const lost = createLostOutput();
  const pending_bytes_max = options.pending_bytes_max ?? PENDING_BYTES_MAX;
  const more = bell();
  const room = bell();
  let sequence = options.sequence;
  let phase: "open" | "closing" | "over" = "open";
  let pump: Promise<void> | null = null;
  let tellFenced: () => void = () => {};
  const fenced = new Promise<void>((resolve) => {
    tellFenced = resolve;
  });

  function end(): void {
    phase = "over";
    pending.clear();
    room.ring();
    more.ring();
  }
  const over = (): boolean => phase === "over";

  /** Repeats one append, the same each time, until it is answered or may never be sent again. */
  async function store(fresh: readonly AppendBody[]): Promise<void> {
    if (fresh.length === 0) return;
    const bodies = lost.addTo(fresh);
    let failing_since: number | null = null;
    while (!over()) {
      if (!(await options.whenMayAct()) || over()) return end();
      const reply = await options.append(sequence, bodies).catch(() => null);
      if (reply === null) {
        failing_since ??= monotonicMs();
        if (monotonicMs() - failing_since >= (options.give_up_ms ?? GIVE_UP_MS)) return loseAll(bodies);
        await pause(RETRY_MS);
        continue;
      }
      if (reply.kind === "appended") {
        sequence = reply.sequence;
        return;
      }
      tellFenced();
      return end();
    }
  }

  /** A ledger that refuses output for long (its memory is full) must not keep the task from its end. */
  function loseAll(bodies: readonly AppendBody[]): void {
    options.onDropped?.(lost.take(bodies));
  }

  async function pumpAll(): Promise<void> {
    while (pending.size() > 0) {
      if (phase === "open" && pending.size() < BATCH_BYTES) await more.wait(options.batch_ms ?? BATCH_MS);
      await store(pending.take());
      room.ring();
    }
    pump = null;
  }

  function start(): void {
    pump ??= pumpAll();
    if (pending.size() >= BATCH_BYTES) more.ring();
  }

  async function writeWhenRoom(stream: StreamName, chunk: Buffer): Promise<void> {
    while (!over() && pending.size() >= pending_bytes_max) {
      if (!options.mayAct()) {
        pending.drop(stream, chunk.length);
        options.onDropped?.(chunk.length);
        return;
      }
      await room.wait(HELD_BACK_LOOK_MS);
    }
    if (over()) return;
    pending.add(stream, chunk);
    start();
  }

  return {
    fenced,
    write: (stream, chunk) => {
      if (over() || chunk.length === 0) return;
      if (pending.size() >= pending_bytes_max) return writeWhenRoom(stream, chunk);
      pending.add(stream, chunk);
      start();
    },
    progress: (line) => {
      if (over() || pending.size() >= pending_bytes_max) return;
      pending.progress(line);
      start();
    },
    close: async () => {
      if (phase === "open") phase = "closing";
      more.ring();
      await pump;
      if (!over()) await store([...pending.takeRest(), ...lost.rest()]);
      end();
    },
    stop: end,
  };
}
