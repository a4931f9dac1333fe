/** What the ledger should answer, told a second time and simply: records in memory, no Redis, no sums kept. */
import { type HostId, type OwnerToken, type StrangeSandbox, TIMES } from "@holdfast/contract";
import { LOST_TAIL_MS } from "@holdfast/ledger";
import { LEASE_MS } from "./ledger-fixture.js";
import type { ModelBoot, ModelGrant, ModelHost, ModelTask, SentAdmit } from "./ledger-model-records.js";
import { Room } from "./ledger-model-room.js";

export * from "./ledger-model-records.js";

export const QUEUE_TIMEOUT_MS = 60_000;
export const LIMITS_USUAL = { "workspace:w1": { slots: 2 }, "fleet:all": { slots: 3 } } as const;

/** What a crash takes nothing of: what workers and engines know. */
export class World {
  transitions = 0;
  now_ms = 0;
  /** Never steps back. */
  elapsed_ms = 0;
  /** Boots that somebody recovered, freed or rerouted since they were DEAD: none may ever live again. */
  readonly acted = new Set<string>();
  /** Highest fence each boot has heard, and every pair there was. */
  readonly heard = new Map<string, bigint>();
  readonly pairs = new Set<string>();
  /** Sandboxes of grants that the ledger forgot, alive for all that anybody knows, by host. */
  strays: (StrangeSandbox & { readonly host_id: HostId; readonly boot_id: string })[] = [];
}

export class Model extends Room {
  readonly world = new World();
  fence = 0n;
  /** Of the Redis that runs: a crash that loses the tail raises it. */
  run = 0;
  /** Null where grants are open. */
  opens_at_ms: number | null = null;
  readonly sent: SentAdmit[] = [];
  /** Tokens that were spent. */
  readonly spent = new Set<string>();

  get now_ms(): number {
    return this.world.now_ms;
  }

  leaseStands(boot: ModelBoot): boolean {
    const ends = boot.lease_ends_ms;
    return boot.state !== "DEAD" && this.now_ms < ends && ends - LEASE_MS <= this.now_ms;
  }

  takesTasks(boot: ModelBoot): boolean {
    return boot.state === "LIVE" && boot.fit && this.leaseStands(boot);
  }

  holds(held: ModelGrant): boolean {
    return held.task.status === "RUNNING" && held.task.current === held && this.leaseStands(held.boot);
  }

  openOf(task: ModelTask): ModelGrant[] {
    return this.grants.filter((held) => held.task === task && held.open);
  }

  /** Once open they stay so; a clock that steps back while they are closed begins the lease anew. */
  grantsOpen(): boolean {
    if (this.opens_at_ms === null) return true;
    if (this.now_ms >= this.opens_at_ms) this.opens_at_ms = null;
    else if (this.opens_at_ms - LEASE_MS > this.now_ms) this.opens_at_ms = this.now_ms + LEASE_MS;
    return this.opens_at_ms === null;
  }

  showsStrangers(host: ModelHost): boolean {
    if (this.run === 0) return false;
    return this.bootsOf(host)
      .filter((boot) => this.leaseStands(boot))
      .some(({ counter, look }) => counter < 0 || (look !== null && (look.run !== this.run || look.strangers > 0)));
  }

  private roomAt(task: ModelTask, host: ModelHost): { boot: ModelBoot; slots: number } | null {
    const takers = this.bootsOf(host).filter((boot) => this.takesTasks(boot));
    const heldBy = (boot: ModelBoot) => this.grants.filter((held) => held.open && held.boot === boot).length;
    const [boot] = takers.toSorted(
      (left, right) => heldBy(left) - heldBy(right) || (left.worker.boot_id < right.worker.boot_id ? -1 : 1),
    );
    const coming = [...this.tasks.values()].filter(
      ({ route, wait_scope }) => route !== null && takers.includes(route) && wait_scope === null,
    ).length;
    const slots = host.slots - this.taken("host", host.host_id).slots - coming;
    const admits = this.deniedByHost(task, host, coming) === null && !this.showsStrangers(host) && !host.draining;
    return boot !== undefined && admits && slots >= 1 ? { boot, slots } : null;
  }

  /** Whether a job of the task that was just put to sleep is to be woken. */
  mayGoOn(task: ModelTask): boolean {
    if (task.record !== null) return true;
    if (task.wait_scope === null) return false;
    const shared = this.deniedByShared(task);
    if (shared === "workspace") return false;
    if (shared === null && this.elsewhere(task, null) !== null) return true;
    const keptForOwn = (host: ModelHost) => !this.isFull(host, task) && this.overtaken(task, host) === "workspace";
    return task.wait_scope === "workspace" && !this.hosts.some(keptForOwn);
  }

  elsewhere(task: ModelTask, except: ModelHost | null): ModelBoot | null {
    const rooms = this.hosts
      .filter((host) => host !== except)
      .toSorted((left, right) => (left.host_id < right.host_id ? -1 : 1))
      .flatMap((host) => this.roomAt(task, host) ?? []);
    return rooms.toSorted((left, right) => right.slots - left.slots)[0]?.boot ?? null;
  }

  admit(task: ModelTask | undefined, boot: ModelBoot, delivery: number, token: OwnerToken): string {
    if (!task) return "stale";
    if (task.record !== null) return "done";
    const { moved } = task;
    if (moved?.by === token && moved.as === task.delivery && task.status === "PENDING") return "elsewhere";
    if (this.spent.has(token)) return "stale";
    const lent = this.grants.find((held) => held.open && held.grant.owner_token === token);
    if (lent && !(task.status === "RUNNING" && task.current === lent)) return "stale";
    if (task.delivery !== delivery) return "stale";
    if (!this.leaseStands(boot)) return "fenced";
    if (task.status === "RUNNING") return task.current?.boot === boot ? "granted" : "busy";
    if (this.now_ms >= task.deadline_ms) {
      this.end(task, "FAILED");
      return "done";
    }
    if (boot.state === "DRAINING") return "draining boot";
    if (boot.host.draining) return "draining host";
    if (!this.grantsOpen() || this.showsStrangers(boot.host)) return "closed";
    const scope = this.denied(task, boot.host);
    const other = scope === "host" ? this.elsewhere(task, boot.host) : null;
    task.wait_scope = other ? null : scope;
    if (other) {
      this.redeliver(task, other);
      task.moved = { by: token, as: task.delivery };
      return "elsewhere";
    }
    if (scope === "host") this.wantPoolBack(task, boot.host);
    return scope === null ? "granted" : `parked ${scope}`;
  }

  /** Of one host, the one that denied the task if that would do. */
  private wantPoolBack(task: ModelTask, first: ModelHost): void {
    const others = this.hosts
      .filter((host) => host !== first)
      .toSorted((left, right) => (left.host_id < right.host_id ? -1 : 1));
    const takes = (host: ModelHost) => !host.draining && this.bootsOf(host).some((boot) => this.takesTasks(boot));
    const found = [first, ...others].find((host) => {
      const full = this.couldServe(host, task) && this.isFull(host, task);
      return full && this.fitsWithoutPool(task, host) && host.healthy && takes(host);
    });
    if (found) found.wanted_back_ms = this.now_ms;
  }

  isPoolWantedBack({ wanted_back_ms: at_ms }: ModelHost): boolean {
    return at_ms !== null && at_ms <= this.now_ms && this.now_ms < at_ms + TIMES.pool_yield_ms;
  }

  redeliver(task: ModelTask, route: ModelBoot | null): void {
    task.delivery += 1;
    task.route = route;
  }

  /** A clock that stepped back begins it anew. */
  ageOfDeath(boot: ModelBoot): number {
    boot.dead_ms = Math.min(boot.dead_ms, this.now_ms);
    return this.now_ms - boot.dead_ms;
  }

  deadForGood(boot: ModelBoot): boolean {
    const acts = boot.state === "DEAD" && this.ageOfDeath(boot) >= LOST_TAIL_MS;
    if (acts) this.world.acted.add(boot.worker.boot_id);
    return acts;
  }

  die(boot: ModelBoot): void {
    boot.state = "DEAD";
    boot.dead_ms = this.now_ms;
  }

  spend(held: ModelGrant): void {
    held.open = false;
    held.boot.missed.delete(held.grant.owner_token);
    this.spent.add(held.grant.owner_token);
    this.settleScopes(held.task);
  }

  end(task: ModelTask, status: string): void {
    task.status = status;
    task.wait_scope = null;
    task.route = null;
    task.sequence += 1;
    task.record = "";
    this.settleScopes(task);
  }

  settleScopes(task: ModelTask): void {
    if (task.status !== "RUNNING" && this.openOf(task).length === 0) task.held = false;
  }

  giveBack(held: ModelGrant, counted: boolean): "requeued" | "settled" {
    const { task } = held;
    if (counted) task.counted += 1;
    else task.hand_backs += 1;
    if (task.cancelled) this.end(task, "CANCELLED");
    else if (task.counted >= task.attempts_max || task.hand_backs >= 10) this.end(task, "FAILED");
    else {
      task.status = "PENDING";
      task.current = null;
      this.redeliver(task, null);
      task.deadline_ms = this.now_ms + QUEUE_TIMEOUT_MS;
      task.sequence += 1;
      return "requeued";
    }
    return "settled";
  }
}
