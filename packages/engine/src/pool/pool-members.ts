/** The sandboxes of a pool, each from before it exists until it was handed out or is proven gone (E1). */
import { pause } from "@holdfast/chassis";
import type { SandboxId } from "@holdfast/contract";
import type { Sandbox } from "../engine.js";
import { boundedReceipt, DESTROY_RETRY_MS } from "../unproven.js";
import { type PoolKey, type PoolRoom, poolKeyText, roomFor, sumOfRooms } from "./pool-key.js";

/** `asked`: taken by a claim that waits for the link's answer. */
export type MemberState = "filling" | "ready" | "asked" | "removing";

export interface Member {
  readonly sandbox_id: SandboxId;
  readonly key: PoolKey;
  readonly text: string;
  readonly room: PoolRoom;
  state: MemberState;
  ready: { readonly sandbox: Sandbox; readonly since_ms: number } | null;
  permission(): number;
}

export interface Members {
  add(sandbox_id: SandboxId, key: PoolKey, permission: () => number): Member;
  forget(member: Member): void;
  has(sandbox_id: string): boolean;
  /** The oldest first; of one key where `text` is given. */
  in(state: MemberState, text?: string): Member[];
  room(): PoolRoom;
  whenEmpty(): Promise<void>;
}

export function createMembers(): Members {
  const all = new Map<string, Member>();
  const waiting = new Set<() => void>();
  return {
    add: (sandbox_id, key, permission) => {
      const [text, room] = [poolKeyText(key), roomFor(key.resources)];
      const member: Member = { sandbox_id, key, text, room, state: "filling", ready: null, permission };
      all.set(sandbox_id, member);
      return member;
    },
    forget: ({ sandbox_id }) => {
      all.delete(sandbox_id);
      if (all.size > 0) return;
      for (const resolve of waiting) resolve();
      waiting.clear();
    },
    has: (sandbox_id) => all.has(sandbox_id),
    in: (state, text) => [...all.values()].filter((each) => each.state === state && each.text === (text ?? each.text)),
    room: () => sumOfRooms([...all.values()].map(({ room }) => room)),
    whenEmpty: () => (all.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.add(resolve))),
  };
}

/** Tries until it is proven gone; false where `stop` was aborted first. */
export async function destroyUntilProven(sandbox: Sandbox, stop: AbortSignal): Promise<boolean> {
  while (!stop.aborted) {
    if ((await boundedReceipt(sandbox.destroy())).proven) return true;
    await pause(DESTROY_RETRY_MS, stop);
  }
  return false;
}
