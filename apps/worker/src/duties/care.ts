/** What the duties that care for a fleet work on. A boot gives it, and so does a supervisor, which is no boot. */
import type { Logger } from "@holdfast/chassis";

import type { BootId, HostId, StrangeSandbox } from "@holdfast/contract";
import type { Engine, SweepFacts } from "@holdfast/engine";

import type { Ledger } from "@holdfast/ledger";
import type { TaskQueue } from "@holdfast/queue";
import type { Lease } from "../boot/lease.js";
import type { CareMetrics } from "../care-metrics.js";
import type { BootSights } from "../recovery/boot-sights.js";

export interface Care {
  /** Null where this process is no boot: nothing in the engine is its own. */
  readonly boot_id: BootId | null;
  /** Null while no engine is known to be a host of this fleet. */
  readonly host_id: HostId | null;
  readonly ledger: Ledger;
  readonly queue: TaskQueue;
  readonly engine: Pick<Engine, "sweep" | "list">;
  readonly engine_healthy: boolean;
  /** Tells whether the ledger was heard of late enough to act by what it said, and by which clock. */
  readonly lease: Pick<Lease, "now" | "mayAct">;
  /** Sandboxes that this process holds in the engine, as they are at each look. */
  readonly held: SweepFacts["held"];
  readonly logger: Logger;
  readonly metrics: CareMetrics;
  /** What the last looks told of other boots. */
  readonly sights: BootSights;
  /** Sandboxes alive on the engine that this process does not hold; null where it has not looked. */
  strange: { readonly seen_at_ms: number; readonly sandboxes: readonly StrangeSandbox[] } | null;
  /** Each asks for a pass of that duty at once; set when the duty runs. */
  pokeSweep(): void;
  pokeRecovery(): void;
  pokeBootWatch(): void;
}
