/** What the parts of one boot share. */
import type { Metrics } from "@holdfast/chassis";
import type { BootId, Fence, HostId } from "@holdfast/contract";
import type { Engine } from "@holdfast/engine";
import type { Care } from "../duties/care.js";
import type { WarmStarts } from "../pool/warm-starts.js";
import type { WorkerMetrics } from "../worker-metrics.js";
import type { Fitness } from "./fitness.js";
import type { Gate } from "./gate.js";
import type { Lease } from "./lease.js";
import type { Runs } from "./runs.js";
import type { TokenBook } from "./token-book.js";

export interface BootState extends Care {
  readonly boot_id: BootId;
  readonly host_id: HostId;
  readonly engine: Engine;
  readonly lease: Lease;
  readonly gate: Gate;
  readonly tokens: TokenBook;
  readonly runs: Runs;
  readonly warm: WarmStarts;
  readonly metrics: WorkerMetrics;
  readonly registry: Metrics;
  /** Highest fence this boot was granted. */
  fence_seen: Fence | null;
  engine_healthy: boolean;
  /** What the process has proved of its host. */
  readonly fitness: Fitness;
  /** Aborted when the process gives up on what is left. */
  readonly given_up: AbortSignal;
  /** As those of Care. */
  pokeBeat(): void;
  pokeEngineHealth(): void;
  pokePool(): void;
}
