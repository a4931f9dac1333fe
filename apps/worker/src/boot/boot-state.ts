/** What the parts of one boot share. */
import type { Logger, Metrics } from "@holdfast/chassis";
import type { BootId, Fence, HostId, SandboxId } from "@holdfast/contract";
import type { Engine } from "@holdfast/engine";
import type { Ledger } from "@holdfast/ledger";
import type { TaskQueue } from "@holdfast/queue";
import type { BootSights } from "../recovery/boot-sights.js";
import type { WorkerMetrics } from "../worker-metrics.js";
import type { Gate } from "./gate.js";
import type { Lease } from "./lease.js";
import type { Runs } from "./runs.js";
import type { TokenBook } from "./token-book.js";

export interface BootState {
  readonly boot_id: BootId;
  readonly host_id: HostId;
  readonly ledger: Ledger;
  readonly queue: TaskQueue;
  readonly engine: Engine;
  readonly lease: Lease;
  readonly gate: Gate;
  readonly tokens: TokenBook;
  readonly runs: Runs;
  readonly logger: Logger;
  readonly metrics: WorkerMetrics;
  readonly registry: Metrics;
  /** Highest fence this boot was granted. */
  fence_seen: Fence | null;
  engine_healthy: boolean;
  /** What the last looks told of other boots. */
  readonly sights: BootSights;
  /** Sandboxes alive on the engine that this worker does not hold; null where it has not looked. */
  strange: { readonly seen_at_ms: number; readonly sandbox_ids: readonly SandboxId[] } | null;
  /** Aborted when the process gives up on what is left. */
  readonly given_up: AbortSignal;
  /** Each asks for a pass of that duty at once; set when the duty runs. */
  pokeBeat(): void;
  pokeSweep(): void;
  pokeRecovery(): void;
  pokeBootWatch(): void;
  pokeEngineHealth(): void;
}
