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
}

export interface OrderedAppend {
  /** `fenced` and `over`: nothing can be stored any more. */
  store(bodies: readonly AppendBody[]): Promise<"stored" | "dropped" | "fenced" | "over">;
  /** Bodies that tell drops no later event has told. */
  rest(): AppendBody[];
  /** The call under way is not repeated any more. */
  stop(): void;
}

const RETRY_MS = 200;
const GIVE_UP_MS = 15_000;

export function createOrderedAppend(options: AppendOptions): OrderedAppend {
  const lost = createLostOutput();
  let sequence = options.sequence;
  let stopped = false;

  return {
    store: async (fresh) => {
      const bodies = lost.addTo(fresh);
      let failing_since: number | null = null;
      while (bodies.length > 0) {
        if (stopped || !(await options.whenMayAct()) || stopped) return "over";
        const reply = await options.append(sequence, bodies).catch(() => null);
        if (reply?.kind === "fenced") return "fenced";
        if (reply?.kind === "appended") {
          sequence = reply.sequence;
          break;
        }
        failing_since ??= monotonicMs();
        // A ledger that refuses output for long (its memory is full) must not keep the task from its end.
        if (monotonicMs() - failing_since >= (options.give_up_ms ?? GIVE_UP_MS)) {
          options.onDropped?.(lost.take(bodies));
          return "dropped";
        }
        await pause(RETRY_MS);
      }
      return "stored";
    },
    rest: () => lost.rest(),
    stop: () => {
      stopped = true;
    },
  };
}
