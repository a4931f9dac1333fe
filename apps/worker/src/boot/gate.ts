/** Whether this boot takes tasks in, and how many at once. Consumers are told whenever that changes. */
import type { Consumer } from "@holdfast/queue";

/**
 * Reasons that close the gate; each is set and cleared by the duty that knows. `draining` is this boot's own way to its
 * end, and is never cleared; `host_draining` follows the ledger, which takes the whole host out of service and back.
 */
export type Closed = "starting" | "engine_sick" | "self_check" | "lease_ended" | "draining" | "host_draining" | "over";

/** The shared queue is fetched from with a free slot of the host only; the boot's own whenever the gate is open. */
export type Source = "shared" | "own";

type Steered = Pick<Consumer, "setSlots">;

export interface Gate {
  close(reason: Closed): void;
  open(reason: Closed): void;
  readonly isOpen: boolean;
  readonly reasons: readonly Closed[];
  /** Slots of this boot that no job of the shared queue stands for: it was answered, or came by the own queue. */
  setBeside(count: number): void;
  /** Slots of the host as they are limited now, and how many of them other boots hold. */
  setHost(slots: number, others: number): void;
  attach(consumer: Steered, source: Source): void;
  detach(consumer: Steered): void;
  /** Jobs that a consumer may have under way at once, those that run among them. */
  wanted(source: Source): number;
  readonly slots: number;
  readonly others: number;
}

/** Jobs of the boot's own queue that are under way beside those that run: each is soon sent on, or sleeps. */
const OWN_SPARE = 4;

export function createGate(slots_at_first: number): Gate {
  const reasons = new Set<Closed>(["starting"]);
  const consumers = new Map<Steered, Source>();
  let beside = 0;
  let slots = slots_at_first;
  let others = 0;

  function wanted(source: Source): number {
    if (reasons.size > 0) return 0;
    return source === "own" ? slots + OWN_SPARE : Math.max(0, slots - beside - others);
  }

  function tell(): void {
    for (const [consumer, source] of consumers) consumer.setSlots(wanted(source));
  }

  return {
    wanted,
    close: (reason) => {
      reasons.add(reason);
      tell();
    },
    open: (reason) => {
      if (reasons.delete(reason)) tell();
    },
    get isOpen() {
      return reasons.size === 0;
    },
    get reasons() {
      return [...reasons];
    },
    get slots() {
      return slots;
    },
    get others() {
      return others;
    },
    setBeside: (count) => {
      beside = count;
      tell();
    },
    setHost: (limit, held) => {
      slots = limit;
      others = held;
      tell();
    },
    attach: (consumer, source) => {
      consumers.set(consumer, source);
      consumer.setSlots(wanted(source));
    },
    detach: (consumer) => {
      consumers.delete(consumer);
      consumer.setSlots(0);
    },
  };
}
