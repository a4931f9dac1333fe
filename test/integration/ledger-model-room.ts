/** Limits, room and turns as the model tells them: counted from its records at each question. */
import type { ScopeKind } from "@holdfast/contract";
import type { ModelBoot, ModelGrant, ModelHost, ModelLimits, ModelTask } from "./ledger-model-records.js";

/** Of each task: what a request takes by default. Only hosts limit it. */
export const TASK_MEMORY_MB = 512 + 256 + 128;

export class Room {
  readonly hosts: ModelHost[] = [];
  /** By `workspace:<w>` and `fleet:all`. */
  readonly limits = new Map<string, ModelLimits>();
  readonly tasks = new Map<string, ModelTask>();
  readonly grants: ModelGrant[] = [];
  readonly boots: ModelBoot[] = [];

  bootsOf(host: ModelHost): ModelBoot[] {
    return this.boots.filter((boot) => boot.host.host_id === host.host_id);
  }

  /** Counted from the records each time: what is taken in a scope, of a host with the slices of its boots. */
  protected taken(scope: ScopeKind, id: string): Amounts {
    const amounts =
      scope === "host"
        ? this.grants.filter((held) => held.open && held.boot.host.host_id === id).map((held) => held.task.cpu_milli)
        : [...this.tasks.values()]
            .filter((task) => task.held && (scope === "fleet" || task.name.workspace_id === id))
            .map((task) => task.cpu_milli);
    const slices = this.boots.filter((boot) => scope === "host" && boot.host.host_id === id);
    return {
      slots: amounts.length,
      cpu_milli: amounts.reduce((sum, cpu) => sum + cpu, 0),
      memory_mb: slices.reduce((sum, { slice }) => sum + slice.memory_mb, amounts.length * TASK_MEMORY_MB),
    };
  }

  private limitsOf(scope: ScopeKind, id: string): Amounts {
    const unlimited = Number.POSITIVE_INFINITY;
    const none = { slots: unlimited, cpu_milli: unlimited, memory_mb: unlimited };
    const host = this.hosts.find(({ host_id }) => scope === "host" && host_id === id);
    return { ...none, ...(host ?? this.limits.get(`${scope}:${id}`)) };
  }

  /** Under the limits alone, whatever is taken. */
  couldServe(host: ModelHost, task: ModelTask): boolean {
    return this.fitsAlone(task, "host", host.host_id);
  }

  private fitsAlone(task: ModelTask, scope: ScopeKind, id: string): boolean {
    return fits(task, this.limitsOf(scope, id));
  }

  private fitsNow(task: ModelTask, scope: ScopeKind, id: string): boolean {
    return fits(task, this.left(scope, id));
  }

  /** Whether only what its living boots keep for their pools is in the way. */
  protected fitsWithoutPool(task: ModelTask, host: ModelHost): boolean {
    const { memory_mb, ...left } = this.left("host", host.host_id);
    const living = this.bootsOf(host).filter(({ state }) => state !== "DEAD");
    return fits(task, { ...left, memory_mb: living.reduce((sum, { slice }) => sum + slice.memory_mb, memory_mb) });
  }

  /** `<scope>: <amount>` where more is taken than a limit, lowered since, allows. */
  overcommitted(): string[] {
    const scopes: [ScopeKind, string][] = [
      ["workspace", "w1"],
      ["workspace", "w2"],
      ["fleet", "all"],
    ];
    for (const { host_id } of this.hosts) scopes.push(["host", host_id]);
    return scopes.flatMap(([scope, id]) =>
      (["slots", "cpu_milli", "memory_mb"] as const)
        .filter((key) => this.taken(scope, id)[key] > this.limitsOf(scope, id)[key])
        .map((key) => `${scope}:${id}: ${key}`),
    );
  }

  /** Why a new task is not accepted, or null. */
  refused(
    workspace: string,
    cpu_milli: number,
    body_bytes: number,
  ): "RESOURCES_TOO_LARGE" | "CAPACITY_EXHAUSTED" | null {
    if (this.hosts.every((host) => cpu_milli > host.cpu_milli)) return "RESOURCES_TOO_LARGE";
    const scopes = [`workspace:${workspace}`, "fleet:all"].map((scope) => {
      const all = [...this.tasks.values()].filter((task) => task.record === null);
      const tasks = all.filter(({ name }) => scope === "fleet:all" || name.workspace_id === workspace);
      return { tasks, limits: this.limits.get(scope) ?? {} };
    });
    const large = scopes.some(
      ({ limits: { cpu_milli: cpu = Number.POSITIVE_INFINITY, pending_bytes: bytes = Number.POSITIVE_INFINITY } }) =>
        cpu_milli > cpu || body_bytes > bytes,
    );
    if (large) return "RESOURCES_TOO_LARGE";
    const full = scopes.some(({ tasks, limits }) => {
      const bytes = tasks.reduce((sum, task) => sum + task.body_bytes, body_bytes);
      const queued = tasks.filter(({ status }) => status === "PENDING").length + 1;
      return queued > (limits.queued ?? queued) || bytes > (limits.pending_bytes ?? bytes);
    });
    return full ? "CAPACITY_EXHAUSTED" : null;
  }

  private older(task: ModelTask, listed: (other: ModelTask) => boolean): ModelTask[] {
    return [...this.tasks.values()]
      .filter((other) => other !== task && other.wait_scope !== null && listed(other))
      .filter((other) => before(other, task))
      .toSorted((left, right) => (before(left, right) ? -1 : 1));
  }

  /** Those ahead of the task in the workspace's list or the fleet's, oldest first, whether or not it waits there. */
  olderIn(list: "workspace" | "fleet", task: ModelTask): ModelTask[] {
    const { workspace_id } = task.name;
    if (list === "fleet") return this.older(task, (other) => other.wait_scope !== "workspace");
    return this.older(task, (other) => other.wait_scope === "workspace" && other.name.workspace_id === workspace_id);
  }

  left(scope: ScopeKind, id: string): Amounts {
    const [limits, taken] = [this.limitsOf(scope, id), this.taken(scope, id)];
    return {
      slots: limits.slots - taken.slots,
      cpu_milli: limits.cpu_milli - taken.cpu_milli,
      memory_mb: limits.memory_mb - taken.memory_mb,
    };
  }

  /** Beside the older ones of its workspace's list. */
  private deniedByWorkspace(task: ModelTask, left = this.left("workspace", task.name.workspace_id)): boolean {
    const { workspace_id } = task.name;
    const ahead = this.olderIn("workspace", task).filter((other) => this.fitsAlone(other, "workspace", workspace_id));
    return !inTurn([...ahead, task], left);
  }

  denied(task: ModelTask, host: ModelHost): ScopeKind | null {
    return this.deniedByShared(task) ?? this.deniedByHost(task, host);
  }

  deniedByShared(task: ModelTask): "workspace" | "fleet" | null {
    if (task.held) return null;
    if (this.deniedByWorkspace(task)) return "workspace";
    return this.fitsNow(task, "fleet", "all") ? null : "fleet";
  }

  /** Every way in which a host, or an older waiter for it, keeps a task out. */
  protected deniedByHost(task: ModelTask, host: ModelHost, coming = 0): ScopeKind | null {
    return !host.healthy || this.isFull(host, task) ? "host" : this.overtaken(task, host, coming);
  }

  isFull(host: ModelHost, task: ModelTask): boolean {
    return !this.fitsNow(task, "host", host.host_id);
  }

  /** What keeps the room of this host for older waiters; `coming` slots of it are promised. */
  overtaken(task: ModelTask, host: ModelHost, coming = 0): ScopeKind | null {
    const free = this.left("host", host.host_id);
    const rooms = { host: { ...free, slots: free.slots - coming }, fleet: this.left("fleet", "all") };
    const own = new Map<string, Amounts>();
    const turn = new Set<string>();
    let ahead: ScopeKind | null = null;
    for (const other of this.olderIn("fleet", task)) {
      const { workspace_id } = other.name;
      const mine = !task.held && workspace_id === task.name.workspace_id;
      const left = own.get(workspace_id) ?? this.left("workspace", workspace_id);
      if (!other.held) {
        own.set(workspace_id, left);
        if (turn.has(workspace_id) || this.deniedByWorkspace(other)) {
          if (this.fitsAlone(other, "workspace", workspace_id)) turn.add(workspace_id);
          continue;
        }
        if (!this.fitsAlone(other, "fleet", "all")) continue;
        if (this.deniedByWorkspace(other, left)) {
          if (mine) return other.wait_scope;
          own.set(workspace_id, { slots: 0, cpu_milli: 0, memory_mb: 0 });
          continue;
        }
      }
      const here = this.fitsAlone(other, "host", host.host_id);
      if (!here && other.wait_scope !== "fleet") continue;
      const needs = [...(here ? [rooms.host] : []), ...(other.held ? [] : [rooms.fleet])];
      if (!needs.every((room) => fits(other, room))) return other.wait_scope;
      for (const room of [...needs, ...(other.held ? [] : [left])]) takeFrom(other, room);
      if (mine && !other.held) ahead = other.wait_scope;
      if (!fits(task, rooms.host) || (!task.held && !fits(task, rooms.fleet))) return other.wait_scope;
    }
    const left = own.get(task.name.workspace_id);
    if (task.held || left === undefined) return null;
    if (turn.has(task.name.workspace_id)) return "workspace";
    return this.deniedByWorkspace(task, left) ? ahead : null;
  }
}

interface Amounts {
  slots: number;
  cpu_milli: number;
  memory_mb: number;
}

const fits = (task: ModelTask, room: Amounts): boolean =>
  room.slots >= 1 && task.cpu_milli <= room.cpu_milli && TASK_MEMORY_MB <= room.memory_mb;

function takeFrom(task: ModelTask, room: Amounts): void {
  room.slots -= 1;
  room.cpu_milli -= task.cpu_milli;
  room.memory_mb -= TASK_MEMORY_MB;
}

/** Whether there is room for all of them, one after another. */
function inTurn(tasks: readonly ModelTask[], left: Amounts): boolean {
  const room = { ...left };
  return tasks.every((task) => {
    const has = fits(task, room);
    takeFrom(task, room);
    return has;
  });
}

function before(left: ModelTask, right: ModelTask): boolean {
  if (left.accepted_ms !== right.accepted_ms) return left.accepted_ms < right.accepted_ms;
  return left.member < right.member;
}
