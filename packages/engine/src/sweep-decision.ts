/** Which containers a sweep removes: a pure decision, so that E2 can be read in one place. */
import type { BootId } from "@holdfast/contract";
import type { ListedContainer } from "./container-calls.js";
import { identityOf } from "./container-name.js";
import type { SweepFacts } from "./engine.js";

/** Beyond this a removal does not end by itself. */
export const REMOVING_MS_MAX = 60_000;

export type SweepDecision =
  | { readonly kind: "keep" }
  /** Being removed by the engine already; `stuck` once that takes too long. */
  | { readonly kind: "wait"; readonly stuck: boolean }
  | { readonly kind: "remove"; readonly why: "not_held" | "boot_dead" | "lifetime_over" };

export interface SweepView extends SweepFacts {
  readonly boot_id: BootId;
  /** Names of containers the engine itself is making, using or removing. */
  readonly in_hand: ReadonlySet<string>;
  /** The engine's own clock, milliseconds. */
  readonly now_ms: number;
  /** When a container was first seen in state `removing`, on the engine's clock. */
  removingSince(id: string): number;
}

function reasonOf(container: ListedContainer, view: SweepView): "not_held" | "boot_dead" | "lifetime_over" | null {
  if (view.in_hand.has(container.name)) return null;
  const identity = identityOf(container.labels);
  // A container of ours whose labels are not whole has no owner to ask, but also no proof: only its owner may end it.
  if (identity === null) return null;
  const { boot_id, sandbox_id, lifetime_seconds } = identity;
  if (boot_id === view.boot_id && !view.held.has(sandbox_id)) return "not_held";
  if (boot_id !== view.boot_id && view.dead_boots.has(boot_id)) return "boot_dead";
  return view.now_ms - container.created_at_ms > lifetime_seconds * 1000 ? "lifetime_over" : null;
}

export function decideSweep(container: ListedContainer, view: SweepView): SweepDecision {
  if (container.state === "removing") {
    return { kind: "wait", stuck: view.now_ms - view.removingSince(container.id) > REMOVING_MS_MAX };
  }
  const why = reasonOf(container, view);
  return why === null ? { kind: "keep" } : { kind: "remove", why };
}
