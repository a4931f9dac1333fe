/** A pool whose sandboxes are made, answer and end as a test says, on a clock that a test moves. */
import { type SandboxId, taskError } from "@holdfast/contract";
import type { ContainerReceipt, CreateReply, Sandbox, SandboxEnd, SandboxSpec } from "../src/engine.js";
import type { PoolEvent } from "../src/pool/pool.js";
import type { PoolKey } from "../src/pool/pool-key.js";
import { createPool } from "../src/pool/warm-pool.js";

export const resources = { cpu: 1, memory_mb: 64, disk_mb: 16, pids_limit: 16 };
export const KEY: PoolKey = { image: "holdfast/shell:1", image_digest: "sha256:1", resources, runtime: "runc" };
export const GONE: ContainerReceipt = { proven: true, kill_ms: 1, remove_ms: 1 };

export interface Made {
  readonly spec: SandboxSpec;
  readonly reply: Promise<CreateReply>;
  readonly sandbox: Sandbox;
  ready(): void;
  fail(cleanup?: Promise<ContainerReceipt>): void;
  end(end: SandboxEnd): void;
  /** How it answers a claim. */
  ping(): Promise<void>;
  receipt: ContainerReceipt;
  destroyed: number;
}

function open<T>() {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((give) => {
    resolve = give;
  });
  return { promise, resolve };
}

function make(spec: SandboxSpec): Made {
  const [reply, ended] = [open<CreateReply>(), open<SandboxEnd>()];
  const failure = { error: taskError("SANDBOX_LOST"), hand_back: true, tries: 3 };
  const sandbox: Partial<Sandbox> = {
    sandbox_id: spec.sandbox_id,
    ended: ended.promise,
    ping: () => made.ping(),
    destroy: async () => {
      made.destroyed += 1;
      ended.resolve({ kind: "destroyed" });
      return made.receipt;
    },
  };
  const made: Made = {
    spec,
    reply: reply.promise,
    sandbox: sandbox as Sandbox,
    ready: () => reply.resolve({ kind: "ready", sandbox: made.sandbox }),
    fail: (cleanup = Promise.resolve(GONE)) => reply.resolve({ kind: "failed", failure: { ...failure, cleanup } }),
    end: ended.resolve,
    ping: async () => {},
    receipt: GONE,
    destroyed: 0,
  };
  return made;
}

/** `advance` moves the timers of the test, and lets what is due come about. */
export function scriptedPool(advance: (ms: number) => Promise<unknown>) {
  const given = { now_ms: 0, mayFill: true };
  const made: Made[] = [];
  const events: PoolEvent[] = [];
  const served: SandboxId[] = [];
  const stop = new AbortController();
  const pool = createPool({
    create: (spec) => {
      const each = make(spec);
      made.push(each);
      return each.reply;
    },
    lifetime_seconds: 100,
    permission: () => 11,
    mayFill: () => given.mayFill,
    stop: stop.signal,
    now: () => given.now_ms,
    onEvent: (event) => events.push(event),
  });
  const last = (): Made => {
    const each = made.at(-1);
    if (each === undefined) throw new Error("nothing was made");
    return each;
  };
  return {
    pool,
    given,
    made,
    events,
    stop,
    served,
    turn: () => advance(0),
    claim: (key: PoolKey = KEY) => pool.claim({ key, permission: () => 22, onServing: (id) => void served.push(id) }),
    last,
    /** Makes whatever the pool asks for, until it asks for nothing more. */
    fill: async (): Promise<void> => {
      for (let seen = -1; seen !== made.length; ) {
        seen = made.length;
        made.at(-1)?.ready();
        await advance(100);
      }
    },
  };
}
