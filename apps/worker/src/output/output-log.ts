/**
 * Carries a command's output into the ledger, in order, under one grant (L2, V1).
 * While the lease stands a full buffer holds the command back; past it the code runs on by its permission to live,
 * and what does not fit is dropped and counted.
 */
import type { AppendBody, StreamName } from "@holdfast/contract";
import { createBell } from "./bell.js";
import { type AppendOptions, createOrderedAppend } from "./ordered-append.js";
import { createPendingOutput } from "./pending-output.js";

export interface OutputLogOptions extends AppendOptions {
  mayAct(): boolean;
  readonly batch_ms?: number;
  readonly pending_bytes_max?: number;
}

export interface OutputLog {
  /** Resolves when there is room for more. */
  write(stream: StreamName, chunk: Buffer): Promise<void> | void;
  progress(line: Record<string, unknown>): void;
  /** Stores the rest at once. Resolves when it is stored, or can never be, to what tells of drops no event has told. */
  close(): Promise<readonly AppendBody[]>;
  /** Throws away what is not stored. */
  stop(): void;
  /** Resolves where the ledger refused this grant: somebody else has the task, or nobody. */
  readonly fenced: Promise<void>;
}

const BATCH_MS = 50;
const BATCH_BYTES = 16 * 1_024;
const PENDING_BYTES_MAX = 4 * 1_024 * 1_024;
/** How often a held back command looks whether the lease still stands. */
const HELD_BACK_LOOK_MS = 250;

/** Takes batches from what is pending and stores them, one after another, until nothing is left. */
function createPump(options: OutputLogOptions, pending: ReturnType<typeof createPendingOutput>) {
  const appender = createOrderedAppend(options);
  const more = createBell();
  const room = createBell();
  let phase: "open" | "closing" | "over" = "open";
  let running: Promise<void> | null = null;
  let tellFenced: () => void = () => {};
  const fenced = new Promise<void>((resolve) => {
    tellFenced = resolve;
  });

  function end(): void {
    phase = "over";
    appender.stop();
    pending.clear();
    room.ring();
    more.ring();
  }

  async function store(bodies: readonly AppendBody[]): Promise<void> {
    const stored = await appender.store(bodies);
    if (stored === "fenced") tellFenced();
    if (stored === "fenced" || stored === "over") end();
  }

  async function pumpAll(): Promise<void> {
    while (pending.size() > 0) {
      if (phase === "open" && pending.size() < BATCH_BYTES) await more.wait(options.batch_ms ?? BATCH_MS);
      await store(pending.take());
      room.ring();
    }
    running = null;
  }

  return {
    fenced,
    end,
    isOver: () => phase === "over",
    waitForRoom: () => room.wait(HELD_BACK_LOOK_MS),
    start: (): void => {
      running ??= pumpAll();
      if (pending.size() >= BATCH_BYTES) more.ring();
    },
    finish: async (): Promise<readonly AppendBody[]> => {
      if (phase === "open") phase = "closing";
      appender.hasten();
      more.ring();
      await running;
      if (phase !== "over") await store([...pending.takeRest(), ...appender.takeUntold()]);
      const untold = phase === "over" ? [] : appender.takeUntold();
      end();
      return untold;
    },
  };
}

export function createOutputLog(options: OutputLogOptions): OutputLog {
  const pending = createPendingOutput();
  const pending_bytes_max = options.pending_bytes_max ?? PENDING_BYTES_MAX;
  const pump = createPump(options, pending);
  const isFull = (): boolean => pending.size() >= pending_bytes_max;

  async function writeWhenRoom(stream: StreamName, chunk: Buffer): Promise<void> {
    while (!pump.isOver() && isFull()) {
      if (!options.mayAct()) {
        pending.drop(stream, chunk.length);
        options.onDropped?.(chunk.length);
        return;
      }
      await pump.waitForRoom();
    }
    if (pump.isOver()) return;
    pending.add(stream, chunk);
    pump.start();
  }

  return {
    fenced: pump.fenced,
    write: (stream, chunk) => {
      if (pump.isOver() || chunk.length === 0) return;
      if (isFull()) return writeWhenRoom(stream, chunk);
      pending.add(stream, chunk);
      pump.start();
    },
    progress: (line) => {
      if (pump.isOver() || isFull()) return;
      pending.progress(line);
      pump.start();
    },
    close: pump.finish,
    stop: pump.end,
  };
}
