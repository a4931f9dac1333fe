/**
 * Every owner token this boot drew (E1, C2). A token is held from before its admit is sent until its release was
 * answered; one that is not held any more is remembered for a while, since the ledger may still ask about it.
 */
import type { OwnerToken, SandboxId, TaskName } from "@holdfast/contract";

export interface DrawnToken extends TaskName {
  readonly owner_token: OwnerToken;
  readonly sandbox_id: SandboxId;
}

export interface TokenBook {
  hold(drawn: DrawnToken): void;
  drop(owner_token: OwnerToken): void;
  held(): OwnerToken[];
  isHeld(owner_token: OwnerToken): boolean;
  count(): number;
  /** Held or remembered. */
  find(owner_token: OwnerToken): DrawnToken | null;
  /** Sandboxes that a held token stands for: a live view, so that whoever looks later sees what came meanwhile. */
  readonly sandboxes: ReadonlySet<string>;
}

const REMEMBERED_MAX = 10_000;

export function createTokenBook(): TokenBook {
  const held = new Map<OwnerToken, DrawnToken>();
  const dropped = new Map<OwnerToken, DrawnToken>();
  const sandboxes = new Set<string>();
  return {
    sandboxes,
    hold: (drawn) => {
      held.set(drawn.owner_token, drawn);
      sandboxes.add(drawn.sandbox_id);
    },
    drop: (owner_token) => {
      const drawn = held.get(owner_token);
      if (drawn === undefined) return;
      held.delete(owner_token);
      sandboxes.delete(drawn.sandbox_id);
      dropped.set(owner_token, drawn);
      const [oldest] = dropped.keys();
      if (dropped.size > REMEMBERED_MAX && oldest !== undefined) dropped.delete(oldest);
    },
    held: () => [...held.keys()],
    isHeld: (owner_token) => held.has(owner_token),
    count: () => held.size,
    find: (owner_token) => held.get(owner_token) ?? dropped.get(owner_token) ?? null,
  };
}
