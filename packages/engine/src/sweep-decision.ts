/** Which containers a sweep removes: a pure decision, so that E2 can be read in one place. */
import { type BootId, type StrangeSandbox, TIMES } from "@holdfast/contract";
import type { ListedContainer } from "./container-calls.js";
import { type ContainerIdentity, identityOf } from "./container-name.js";
import type { SweepFacts } from "./engine.js";

/** Beyond this a removal does not end by itself. */
export const REMOVING_MS_MAX = 60_000;

/** In these states no process of it is left and nobody but its maker starts one. */
const AT_REST = new Set(["created", "exited", "dead", "removing"]);

export function isAlive(container: Pick<ListedContainer, "state">): boolean {
  return !AT_REST.has(container.state);
}

export type SweepReason = "not_held" | "boot_dead" | "boot_absent" | "lifetime_over";

export type SweepDecision =
  | { readonly kind: "keep" }
  /** Being removed by the engine already; `stuck` once that takes too long. */
  | { readonly kind: "wait"; readonly stuck: boolean }
  | { readonly kind: "remove"; readonly why: SweepReason };

export interface SweepView extends SweepFacts {
  /** The sweeper's own; null where it makes nothing itself. */
  readonly boot_id: BootId | null;
  /** Names of containers the engine itself is making, using or removing. */
  readonly in_hand: ReadonlySet<string>;
  /** The engine's own clock, milliseconds. */
  readonly now_ms: number;
  /** When a container was first seen in state `removing`, on the engine's clock. */
  removingSince(id: string): number;
}

/** Absent is not dead (L4): nothing that runs is ended for it, and what is at rest has had its dead-man bound. */
function isAbsentAndOver(container: ListedContainer, boot_id: BootId, view: SweepView): boolean {
  if (view.known_boots === undefined || view.known_boots.has(boot_id)) return false;
  return !isAlive(container) && view.now_ms - container.created_at_ms > TIMES.dead_man_bound_ms;
}

function reasonOf(container: ListedContainer, view: SweepView): SweepReason | null {
  if (view.in_hand.has(container.name)) return null;
  const identity = identityOf(container.labels);
  // A container of ours whose labels are not whole has no owner to ask, but also no proof: only its owner may end it.
  if (identity === null) return null;
  const { boot_id, sandbox_id, lifetime_seconds } = identity;
  const isOwn = boot_id === view.boot_id;
  if (isOwn && !view.held.has(sandbox_id)) return "not_held";
  if (!isOwn && view.dead_boots.has(boot_id)) return "boot_dead";
  if (!isOwn && isAbsentAndOver(container, boot_id, view)) return "boot_absent";
  return view.now_ms - container.created_at_ms > lifetime_seconds * 1000 ? "lifetime_over" : null;
}

export function decideSweep(container: ListedContainer, view: SweepView): SweepDecision {
  if (container.state === "removing") {
    return { kind: "wait", stuck: view.now_ms - view.removingSince(container.id) > REMOVING_MS_MAX };
  }
  const why = reasonOf(container, view);
  return why === null ? { kind: "keep" } : { kind: "remove", why };
}

const SERVES_CALLERS: readonly ContainerIdentity["purpose"][] = ["task", "pool"];

/** One that is alive, serves callers and is held by nobody here; else null. */
export function strangerIn(container: ListedContainer, view: SweepView): StrangeSandbox | null {
  const identity = identityOf(container.labels);
  if (identity === null || !isAlive(container) || view.in_hand.has(container.name)) return null;
  if (!SERVES_CALLERS.includes(identity.purpose) || view.held.has(identity.sandbox_id)) return null;
  const { sandbox_id, boot_id, purpose } = identity;
  return { sandbox_id, pool_of: purpose === "pool" ? boot_id : null };
}
