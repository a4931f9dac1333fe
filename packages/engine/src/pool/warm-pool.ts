/**
 * Verified sandboxes that wait for their one task. They are made one at a time and while no live creation is under
 * way, handed out once, and never once in doubt. Facts in: what is wanted and how much room there is.
 */
import { deadline, monotonicMs, unlessAborted } from "@holdfast/chassis";
import { drawSandboxId, type TaskError, TIMES } from "@holdfast/contract";
import type { CreateReply, Sandbox, SandboxSpec } from "../engine.js";
import { creationThrew } from "../unproven.js";
import type { Claim, Pool, PoolKeyCounts, PoolOptions, PoolTarget, RemovalReason } from "./pool.js";
import { fitsInto, NO_ROOM, type PoolKey, type PoolRoom, poolKeyText, roomFor, sumOfRooms } from "./pool-key.js";
import { createMembers, destroyUntilProven, type Member } from "./pool-members.js";

const REFILL_RETRY_MS = 1_000;
const REFILL_RETRY_MS_MAX = 60_000;
/** What was just handed out is on its way to its command, which a creation beside it would slow down. */
const QUIET_MS = 100;
/** Replaced this long before its time unassigned is over, so that none is handed out at the last moment. */
const RENEW_MS = 300_000;

interface Wanted extends PoolTarget {
  readonly text: string;
  hits: number;
  misses: number;
}

type Ready = NonNullable<Member["ready"]>;

function answers(sandbox: Sandbox): Promise<boolean> {
  const asked = sandbox.ping().then(
    () => true,
    () => false,
  );
  return deadline(asked, TIMES.pool_claim_ms, () => false);
}

class WarmPool implements Pool {
  readonly #options: PoolOptions;
  readonly #now: () => number;
  readonly #members = createMembers();
  #wanted: readonly Wanted[] = [];
  #room: PoolRoom = NO_ROOM;
  #live = 0;
  #failures = 0;
  #retry: NodeJS.Timeout | null = null;
  #quiet: NodeJS.Timeout | null = null;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#now = options.now ?? monotonicMs;
  }

  steer(targets: readonly PoolTarget[], room: PoolRoom): void {
    const before = new Map(this.#wanted.map((wanted) => [wanted.text, wanted]));
    this.#room = room;
    this.#wanted = targets.map(({ key, count }) => {
      const text = poolKeyText(key);
      const { hits = 0, misses = 0 } = before.get(text) ?? {};
      return { key, count, text, hits, misses };
    });
    this.#pump();
  }

  async claim({ key, permission, onServing }: Claim): Promise<Sandbox | null> {
    const text = poolKeyText(key);
    const began_ms = this.#now();
    for (let taken = this.#take(text); taken !== null; taken = this.#take(text)) {
      const { member, ready } = taken;
      if (!(await answers(ready.sandbox))) {
        this.#remove(member, ready, "doubtful");
        continue;
      }
      member.permission = permission;
      onServing(member.sandbox_id);
      this.#members.forget(member);
      this.#count(text, "hits");
      this.#options.onEvent({ kind: "hit", key, age_ms: began_ms - ready.since_ms });
      this.#quieten();
      this.#left();
      return { ...ready.sandbox, created_ms: Math.round(this.#now() - began_ms) };
    }
    this.#count(text, "misses");
    this.#options.onEvent({ kind: "miss", key });
    return null;
  }

  /** No step lies between the look and the taking: a member is taken once. */
  #take(text: string): { readonly member: Member; readonly ready: Ready } | null {
    for (const member of this.#members.in("ready", text)) {
      const { ready } = member;
      if (ready === null || this.#now() - ready.since_ms >= TIMES.pool_unassigned_ms) continue;
      member.state = "asked";
      return { member, ready };
    }
    return null;
  }

  #count(text: string, what: "hits" | "misses"): void {
    const wanted = this.#wanted.find((each) => each.text === text);
    if (wanted !== undefined) wanted[what] += 1;
  }

  readonly create = async (spec: SandboxSpec): Promise<CreateReply> => {
    this.#live += 1;
    try {
      return await this.#options.create(spec);
    } finally {
      this.#live -= 1;
      this.#pump();
    }
  };

  #quieten(): void {
    this.#quiet ??= setTimeout(() => {
      this.#quiet = null;
      this.#pump();
    }, QUIET_MS);
  }

  #left(): void {
    this.#options.onEvent({ kind: "left" });
    this.#pump();
  }

  #remove(member: Member, { sandbox }: Ready, why: RemovalReason): void {
    member.state = "removing";
    this.#options.onEvent({ kind: "removed", sandbox_id: member.sandbox_id, why });
    void destroyUntilProven(sandbox, this.#options.stop).then((proven) => {
      if (proven) this.#gone(member);
    });
  }

  #gone(member: Member): void {
    this.#members.forget(member);
    this.#left();
  }

  async #fill(key: PoolKey): Promise<void> {
    const began_ms = this.#now();
    const { create, lifetime_seconds, permission } = this.#options;
    const member = this.#members.add(drawSandboxId(), key, permission);
    const { sandbox_id } = member;
    const { image, resources, runtime } = key;
    const spec = { sandbox_id, purpose: "pool", image, resources, runtime, lifetime_seconds } as const;
    const reply = await create({ ...spec, permission: () => member.permission() }).catch(creationThrew);
    if (reply.kind === "failed") {
      member.state = "removing";
      this.#retryLater(key, reply.failure.error);
      // Unproven where the engine was closed, or nothing is known of what it did: its room stays held.
      if ((await reply.failure.cleanup).proven) this.#gone(member);
      return;
    }
    this.#failures = 0;
    this.#options.onEvent({ kind: "filled", key, took_ms: this.#now() - began_ms });
    this.#put(member, reply.sandbox);
  }

  #put(member: Member, sandbox: Sandbox): void {
    const ready = { sandbox, since_ms: this.#now() };
    member.ready = ready;
    member.state = "ready";
    void sandbox.ended.then(() => {
      if (member.state === "ready") this.#remove(member, ready, "ended");
    });
    this.#pump();
  }

  #retryLater(key: PoolKey, error: TaskError): void {
    this.#options.onEvent({ kind: "fill_failed", key, error });
    const wait_ms = Math.min(REFILL_RETRY_MS * 2 ** this.#failures, REFILL_RETRY_MS_MAX);
    this.#failures += 1;
    this.#retry = setTimeout(() => {
      this.#retry = null;
      this.#pump();
    }, wait_ms);
    this.#retry.unref();
  }

  /** The old ones go one at a time, each after its predecessor was replaced. */
  #removeUnwanted(): void {
    for (const member of this.#members.in("ready")) {
      const { ready, text } = member;
      if (ready === null) continue;
      const count = this.#wanted.find((each) => each.text === text)?.count ?? 0;
      const isOld = this.#now() - ready.since_ms >= TIMES.pool_unassigned_ms - RENEW_MS;
      const changing = this.#members.in("removing", text).length + this.#members.in("filling", text).length;
      if (this.#members.in("ready", text).length > count) this.#remove(member, ready, "unwanted");
      else if (isOld && changing === 0) this.#remove(member, ready, "old");
    }
  }

  #next(): PoolKey | null {
    const held = this.#members.room();
    const short = this.#wanted.find(
      ({ key, text, count }) =>
        this.#members.in("ready", text).length < count &&
        fitsInto(sumOfRooms([held, roomFor(key.resources)]), this.#room),
    );
    return short?.key ?? null;
  }

  #pump(): void {
    this.#removeUnwanted();
    const isBusy = this.#live > 0 || this.#members.in("filling").length > 0;
    if (isBusy || this.#retry !== null || this.#quiet !== null || !this.#options.mayFill()) return;
    const key = this.#next();
    if (key !== null) void this.#fill(key);
  }

  holds(sandbox_id: string): boolean {
    return this.#members.has(sandbox_id);
  }

  room(): PoolRoom {
    return this.#members.room();
  }

  counts(): readonly PoolKeyCounts[] {
    return this.#wanted.map(({ key, text, count, hits, misses }) => {
      const [ready, filling] = [this.#members.in("ready", text).length, this.#members.in("filling", text).length];
      return { key, wanted: count, ready, filling, hits, misses };
    });
  }

  async drain(): Promise<void> {
    this.steer([], NO_ROOM);
    await unlessAborted(this.#members.whenEmpty(), this.#options.stop);
  }
}

export function createPool(options: PoolOptions): Pool {
  return new WarmPool(options);
}
