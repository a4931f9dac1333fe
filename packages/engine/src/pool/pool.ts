/** What the owner of a pool asks of it and hears from it. */
import type { SandboxId, TaskError } from "@holdfast/contract";
import type { Engine, Sandbox } from "../engine.js";
import type { PoolKey, PoolRoom } from "./pool-key.js";

export interface PoolTarget {
  readonly key: PoolKey;
  readonly count: number;
}

/** `ended`: by itself. `doubtful`: it did not answer a claim. `old`: near the end of its time unassigned. */
export type RemovalReason = "unwanted" | "ended" | "doubtful" | "old";

export type PoolEvent =
  | { readonly kind: "filled"; readonly key: PoolKey; readonly took_ms: number }
  | { readonly kind: "fill_failed"; readonly key: PoolKey; readonly error: TaskError }
  | { readonly kind: "hit"; readonly key: PoolKey; readonly age_ms: number }
  | { readonly kind: "miss"; readonly key: PoolKey }
  | { readonly kind: "removed"; readonly sandbox_id: SandboxId; readonly why: RemovalReason }
  /** One was handed out or proven gone: the pool holds less. */
  | { readonly kind: "left" };

export interface PoolOptions {
  readonly create: Engine["create"];
  /** Life of a member from its creation to the end of whatever it may serve, in seconds. */
  readonly lifetime_seconds: number;
  /** Milliseconds that a member which waits may still live. */
  permission(): number;
  /** Asked before each creation: false where the owner has no right to make anything now. */
  mayFill(): boolean;
  /** Aborted where nobody tries any more to be rid of what is left. */
  readonly stop: AbortSignal;
  /** Monotonic milliseconds. */
  now?(): number;
  onEvent(event: PoolEvent): void;
}

export interface Claim {
  readonly key: PoolKey;
  /** From when it is handed out the sandbox may live as long as this says. */
  permission(): number;
  /** Called just before the pool forgets the sandbox, so that at each moment somebody holds it. */
  onServing(sandbox_id: SandboxId): void;
}

export interface PoolKeyCounts {
  readonly key: PoolKey;
  readonly wanted: number;
  readonly ready: number;
  readonly filling: number;
  /** Claims that were served, and that were not, since the key was first wanted. */
  readonly hits: number;
  readonly misses: number;
}

export interface Pool {
  /** What is to wait, in order of importance, and the room that all of it together may hold. */
  steer(targets: readonly PoolTarget[], room: PoolRoom): void;
  /** A sandbox of exactly this key that answered just now and is the caller's alone; null where there is none. */
  claim(claim: Claim): Promise<Sandbox | null>;
  /** A creation that somebody waits for: while it goes on the pool begins none. */
  readonly create: Engine["create"];
  /** Also one that is being made or removed. */
  holds(sandbox_id: string): boolean;
  /** What its sandboxes hold together, in every state. */
  room(): PoolRoom;
  counts(): readonly PoolKeyCounts[];
  /** Begins nothing more; resolves once all of it is proven gone or handed out, or `stop` was aborted. */
  drain(): Promise<void>;
}
