/**
 * Appends in order under one grant: each names the last sequence this grant knows, and one whose answer was lost is
 * sent again as it was, so that nothing is stored twice (V1, L2).
 */
import { monotonicMs, pause } from "@holdfast/chassis";
import type { AppendBody } from "@holdfast/contract";
import type { AppendReply } from "@holdfast/ledger";
import { createLostOutput } from "./lost-output.js";

export interface AppendOptions {
  /** Last sequence number this grant knows. */
  readonly sequence: number;
  append(expected_sequence: number, bodies: readonly AppendBody[]): Promise<AppendReply>;
  /** Waits until this worker may write; false where it never may again. */
  whenMayAct(): Promise<boolean>;
  onDropped?(bytes: number): void;
  /** How long an append may be answered by errors before its output is dropped and counted. */
  readonly give_up_ms?: number;
  /** The same for all that is left once the command has ended. */
  readonly end_give_up_ms?: number;
}

export interface OrderedAppend {
  /** `fenced` and `over`: nothing can be stored any more. */
  store(bodies: readonly AppendBody[]): Promise<"stored" | "dropped" | "fenced" | "over">;
  /** Nothing more comes: from now on all that is left shares one bound. */
  hasten(): void;
  /** Takes bodies that tell drops no later event has told. */
  takeUntold(): AppendBody[];
  /** The call under way is not repeated any more. */
  stop(): void;
}

const RETRY_MS = 200;
const GIVE_UP_MS = 15_000;
const END_GIVE_UP_MS = 3_000;

/** How long the ledger has answered with errors, without the time in which nothing might be asked of it. */
function createPatience(options: AppendOptions) {
  let failing_since: number | null = null;
  let hastened = false;
  return {
    hasten: (): void => {
      hastened = true;
      failing_since = null;
    },
    renew: (): void => {
      failing_since = null;
    },
    whenMayAct: async (): Promise<boolean> => {
      const asked = monotonicMs();
      const may = await options.whenMayAct();
      if (failing_since !== null) failing_since += monotonicMs() - asked;
      return may;
    },
    /** To be asked after each failure. */
    isOver: (): boolean => {
      failing_since ??= monotonicMs();
      const bound_ms = hastened ? (options.end_give_up_ms ?? END_GIVE_UP_MS) : (options.give_up_ms ?? GIVE_UP_MS);
      const over = monotonicMs() - failing_since >= bound_ms;
      if (over && !hastened) failing_since = null;
      return over;
    },
  };
}

export function createOrderedAppend(options: AppendOptions): OrderedAppend {
  const lost = createLostOutput();
  const patience = createPatience(options);
  let sequence = options.sequence;
  let stopped = false;

  return {
    store: async (fresh) => {
      const bodies = lost.addTo(fresh);
      while (bodies.length > 0) {
        if (stopped || !(await patience.whenMayAct()) || stopped) return "over";
        const reply = await options.append(sequence, bodies).catch(() => null);
        if (reply?.kind === "fenced") return "fenced";
        if (reply?.kind === "appended") {
          sequence = reply.sequence;
          patience.renew();
          break;
        }
        // A ledger that refuses output for long (its memory is full) must not keep the task from its end.
        if (patience.isOver()) {
          options.onDropped?.(lost.take(bodies));
          return "dropped";
        }
        await pause(RETRY_MS);
      }
      return "stored";
    },
    hasten: patience.hasten,
    takeUntold: () => lost.addTo(lost.rest()),
    stop: () => {
      stopped = true;
    },
  };
}
