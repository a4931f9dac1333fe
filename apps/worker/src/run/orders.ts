/** What the worker may order a run to do from outside. The first order stands. */
export type Order =
  | { readonly kind: "cancel" }
  /** The worker drains and its grace is over. */
  | { readonly kind: "shutdown" }
  /** The run has no right to exist any more: end it and write nothing (L2, L3). */
  | { readonly kind: "abandon"; readonly reason: string };

export interface Orders {
  give(order: Order): void;
  readonly first: Promise<Order>;
  readonly given: Order | null;
  /** True once the run may write nothing more, also where another order came first. */
  readonly abandoned: boolean;
}

export function createOrders(): Orders {
  let given: Order | null = null;
  let abandoned = false;
  let tell: (order: Order) => void = () => {};
  const first = new Promise<Order>((resolve) => {
    tell = resolve;
  });
  return {
    first,
    give: (order) => {
      if (order.kind === "abandon") abandoned = true;
      if (given !== null) return;
      given = order;
      tell(order);
    },
    get given() {
      return given;
    },
    get abandoned() {
      return abandoned;
    },
  };
}
