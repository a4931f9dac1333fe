/** What one attempt has to work with. */
import type { Logger } from "@holdfast/chassis";
import type { TaskRequest } from "@holdfast/contract";
import type { Engine } from "@holdfast/engine";
import type { Grant, Ledger } from "@holdfast/ledger";
import type { Lease } from "../boot/lease.js";
import type { WorkerMetrics } from "../worker-metrics.js";
import type { Orders } from "./orders.js";

export interface AttemptDeps {
  readonly tasks: Ledger["tasks"];
  readonly engine: Pick<Engine, "create" | "ping">;
  readonly lease: Lease;
  readonly metrics: WorkerMetrics;
  readonly logger: Logger;
  /** False while the engine misses its pings. */
  engineHealthy(): boolean;
}

export interface Attempt {
  readonly grant: Grant;
  readonly request: TaskRequest;
  readonly orders: Orders;
  /** Monotonic milliseconds at which the grant was heard. */
  readonly granted_at_ms: number;
}
