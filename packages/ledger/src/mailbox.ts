/** News of one task between a subscription and a reader that may be slow: bounded, and what overflows is read again. */
import type { TaskEvent } from "@holdfast/contract";
import { storedEvent } from "./event-page.js";

export type News =
  /** `event` is null where it was too large to be published. */
  | { readonly kind: "event"; readonly sequence: number; readonly event: TaskEvent | null }
  | { readonly kind: "heartbeat"; readonly at_ms: number }
  /** More came than was kept: the stream must be read. */
  | { readonly kind: "overflow" }
  | { readonly kind: "silence" };

export interface Mailbox {
  put(message: string): void;
  /** The next news, or silence after `wait_ms` or when `signal` aborts. */
  take(wait_ms: number, signal?: AbortSignal): Promise<News>;
}

const KEPT_MAX = 64;
const NEWS = /^(\d+)(?: (\d+) (\d+) (.*))?$/s;

export function createMailbox(): Mailbox {
  let kept: string[] = [];
  let overflow = false;
  let wake: () => void = () => undefined;

  function next(): News | null {
    if (overflow) {
      overflow = false;
      return { kind: "overflow" };
    }
    const message = kept.shift();
    return message === undefined ? null : newsOf(message);
  }

  return {
    put: (message) => {
      if (kept.length >= KEPT_MAX) {
        kept = [];
        overflow = true;
      }
      kept.push(message);
      wake();
    },
    take: async (wait_ms, signal) => {
      const ready = next();
      if (ready) return ready;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(done, wait_ms);
        function done(): void {
          clearTimeout(timer);
          signal?.removeEventListener("abort", done);
          resolve();
        }
        wake = done;
        signal?.addEventListener("abort", done);
        if (signal?.aborted) done();
      });
      return next() ?? { kind: "silence" };
    },
  };
}

function newsOf(message: string): News {
  if (message.startsWith("heartbeat ")) return { kind: "heartbeat", at_ms: Number(message.slice(10)) };
  const [, sequence, at_ms, attempt, body] = NEWS.exec(message) ?? [];
  if (sequence === undefined) return { kind: "overflow" };
  const stored = { sequence: Number(sequence), at_ms: Number(at_ms), attempt: Number(attempt) };
  return { kind: "event", sequence: stored.sequence, event: body === undefined ? null : storedEvent(stored, body) };
}
