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
  /** Once it is held, another call changes nothing. */
  hold(drawn: DrawnToken): void;
  drop(owner_token: OwnerToken): void;
  /** Another sandbox than the one that was drawn serves: it stands for the token from now on. */
  serve(owner_token: OwnerToken, sandbox_id: SandboxId): void;
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
  /** Its own fields only: a caller's object may hold a whole request, which would be remembered as long. */
  const keep = ({ workspace_id, task_id, owner_token, sandbox_id }: DrawnToken): void => {
    held.set(owner_token, { workspace_id, task_id, owner_token, sandbox_id });
    sandboxes.add(sandbox_id);
  };
  return {
    sandboxes,
    hold: (drawn) => {
      if (!held.has(drawn.owner_token)) keep(drawn);
    },
    serve: (owner_token, sandbox_id) => {
      const drawn = held.get(owner_token);
      if (drawn === undefined) return;
      sandboxes.delete(drawn.sandbox_id);
      keep({ ...drawn, sandbox_id });
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
