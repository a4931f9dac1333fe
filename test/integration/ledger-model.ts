/** What the ledger should answer, told a second time and simply: records in memory, no Redis, no sums kept. */
import type { HostId, ScopeKind, TaskName } from "@holdfast/contract";
import type { Grant } from "@holdfast/ledger";
import { LEASE_MS, type Worker } from "./ledger-fixture.js";

export interface ModelHost {
  readonly host_id: HostId;
  readonly slots: number;
  readonly cpu_milli: number;
  healthy: boolean;
}

export interface ModelBoot {
  readonly worker: Worker;
  readonly host: ModelHost;
  state: "LIVE" | "DRAINING" | "DEAD";
  lease_ends_ms: number;
  counter: number;
  readonly missed: Map<string, number>;
}

export interface ModelGrant {
  readonly grant: Grant;
  readonly boot: ModelBoot;
  readonly task: ModelTask;
  open: boolean;
  active: boolean;
  gave_back: "requeued" | "settled" | null;
}

export interface ModelTask {
  readonly name: TaskName;
  readonly member: string;
  readonly cpu_milli: number;
  readonly attempts_max: number;
  readonly accepted_ms: number;
  status: string;
  delivery: number;
  attempt: number;
  counted: number;
  hand_backs: number;
  cancelled: boolean;
  /** A caller was told that it is cancelled for good. */
  told_cancelled: boolean;
  held: boolean;
  wait_scope: ScopeKind | null;
  deadline_ms: number;
  sequence: number;
  started: number;
  current: ModelGrant | null;
  ended_by: ModelGrant | null;
  record: string | null;
}

export const QUEUE_TIMEOUT_MS = 30_000;
export const LIMITED_WORKSPACE = { id: "w1", slots: 2 } as const;
export const FLEET_SLOTS = 3;

export class Model {
  now_ms = 0;
  fence = 0n;
  transitions = 0;
  readonly hosts: ModelHost[] = [];
  readonly boots: ModelBoot[] = [];
  readonly tasks = new Map<string, ModelTask>();
  readonly grants: ModelGrant[] = [];

  leaseStands(boot: ModelBoot): boolean {
    const ends = boot.lease_ends_ms;
    return boot.state !== "DEAD" && this.now_ms < ends && ends - LEASE_MS <= this.now_ms;
  }

  holds(held: ModelGrant): boolean {
    return held.task.status === "RUNNING" && held.task.current === held && this.leaseStands(held.boot);
  }

  openOf(task: ModelTask): ModelGrant[] {
    return this.grants.filter((held) => held.task === task && held.open);
  }

  /** Counted from the records each time: slots and cpu taken in a scope. */
  private taken(scope: ScopeKind, id: string): { slots: number; cpu_milli: number } {
    const amounts =
      scope === "host"
        ? this.grants.filter((held) => held.open && held.boot.host.host_id === id).map((held) => held.task.cpu_milli)
        : [...this.tasks.values()]
            .filter((task) => task.held && (scope === "fleet" || task.name.workspace_id === id))
            .map((task) => task.cpu_milli);
    return { slots: amounts.length, cpu_milli: amounts.reduce((sum, cpu) => sum + cpu, 0) };
  }

  private older(task: ModelTask, listed: (other: ModelTask) => boolean): ModelTask[] {
    return [...this.tasks.values()]
      .filter((other) => other !== task && other.wait_scope !== null && listed(other))
      .filter((other) => before(other, task))
      .toSorted((left, right) => (before(left, right) ? -1 : 1));
  }

  denied(task: ModelTask, host: ModelHost): ScopeKind | null {
    const { workspace_id } = task.name;
    if (!task.held) {
      const ahead = this.older(
        task,
        (other) => other.wait_scope === "workspace" && other.name.workspace_id === workspace_id,
      );
      const room = workspace_id !== LIMITED_WORKSPACE.id || this.taken("workspace", workspace_id).slots < 2;
      if (ahead.length > 0 || !room) return "workspace";
      if (this.taken("fleet", "").slots >= FLEET_SLOTS) return "fleet";
    }
    if (!host.healthy || task.cpu_milli > host.cpu_milli) return "host";
    const taken = this.taken("host", host.host_id);
    if (taken.slots + 1 > host.slots || taken.cpu_milli + task.cpu_milli > host.cpu_milli) return "host";
    const ahead = this.older(task, (other) => other.wait_scope !== "workspace");
    return ahead.find((other) => other.wait_scope === "fleet" || other.cpu_milli <= host.cpu_milli)?.wait_scope ?? null;
  }

  admit(task: ModelTask | undefined, boot: ModelBoot, delivery: number): string {
    if (!task) return "stale";
    if (task.record !== null) return "done";
    if (task.delivery !== delivery) return "stale";
    if (!this.leaseStands(boot)) return "fenced";
    if (task.status === "RUNNING") return task.current?.boot === boot ? "granted" : "busy";
    if (this.now_ms >= task.deadline_ms) {
      this.end(task, "FAILED");
      return "done";
    }
    if (boot.state === "DRAINING") return "draining";
    const scope = this.denied(task, boot.host);
    task.wait_scope = scope;
    return scope === null ? "granted" : `parked ${scope}`;
  }

  end(task: ModelTask, status: string): void {
    task.status = status;
    task.wait_scope = null;
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
      task.delivery += 1;
      task.deadline_ms = this.now_ms + QUEUE_TIMEOUT_MS;
      task.sequence += 1;
      return "requeued";
    }
    return "settled";
  }
}

function before(left: ModelTask, right: ModelTask): boolean {
  if (left.accepted_ms !== right.accepted_ms) return left.accepted_ms < right.accepted_ms;
  return left.member < right.member;
}
