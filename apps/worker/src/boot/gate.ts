/** Whether this boot takes tasks in, and how many at once. Consumers are told whenever that changes. */
import type { Consumer } from "@holdfast/queue";

/** Reasons that close the gate; each is set and cleared by the duty that knows. */
export type Closed = "starting" | "engine_sick" | "lease_ended" | "draining" | "over";

export interface Gate {
  close(reason: Closed): void;
  open(reason: Closed): void;
  readonly isOpen: boolean;
  readonly reasons: readonly Closed[];
  /** Slots whose job was answered but whose sandbox is not proven gone yet. */
  setRemoving(count: number): void;
  attach(consumer: Pick<Consumer, "setSlots">): void;
  detach(consumer: Pick<Consumer, "setSlots">): void;
  readonly slots: number;
}

export function createGate(slots: number): Gate {
  const reasons = new Set<Closed>(["starting"]);
  const consumers = new Set<Pick<Consumer, "setSlots">>();
  let removing = 0;

  const wanted = (): number => (reasons.size > 0 ? 0 : Math.max(0, slots - removing));
  function tell(): void {
    for (const consumer of consumers) consumer.setSlots(wanted());
  }

  return {
    slots,
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
    setRemoving: (count) => {
      removing = count;
      tell();
    },
    attach: (consumer) => {
      consumers.add(consumer);
      consumer.setSlots(wanted());
    },
    detach: (consumer) => {
      consumers.delete(consumer);
      consumer.setSlots(0);
    },
  };
}
