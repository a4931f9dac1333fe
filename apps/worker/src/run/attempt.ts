/** What one attempt has to work with. */
import type { TaskRequest } from "@holdfast/contract";
import type { Engine, Sandbox } from "@holdfast/engine";
import type { Grant, Ledger } from "@holdfast/ledger";
import type { SandboxFate } from "../boot/losses.js";
import type { WorkerMetrics } from "../worker-metrics.js";
import type { Orders } from "./orders.js";
import type { Permission } from "./permission.js";
import type { LedgerCaller } from "./until-answered.js";

export interface AttemptDeps extends LedgerCaller {
  readonly tasks: Ledger["tasks"];
  readonly engine: Pick<Engine, "create" | "ping">;
  /** Asked before a sandbox is made. */
  claimWarm(attempt: Attempt, permission: Permission): Promise<Sandbox | null>;
  readonly metrics: WorkerMetrics;
  /** Closes intake until the engine has proved itself: called before anything is handed back for its sake. */
  doubtEngine(): void;
  /** How the sandbox of this attempt ended, where that says something of the host. */
  sandboxEnded(fate: SandboxFate): void;
}

export interface Attempt {
  readonly grant: Grant;
  readonly request: TaskRequest;
  readonly orders: Orders;
  /** Monotonic milliseconds at which the grant was heard. */
  readonly granted_at_ms: number;
}
