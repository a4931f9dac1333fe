import type { Metrics } from "@holdfast/chassis";
import type { PoolKeyCounts } from "@holdfast/engine";
import type { BootState } from "./boot/boot-state.js";
import type { WorkerMetrics } from "./worker-metrics.js";

const sum = (keys: readonly PoolKeyCounts[], what: "ready" | "filling"): number =>
  keys.reduce((all, counts) => all + counts[what], 0);

/** Gauges that are read from the present boot whenever somebody asks. */
export function readGauges(registry: Metrics, metrics: WorkerMetrics, current: () => BootState): void {
  registry.onCollect(() => {
    const { runs, gate, lease, engine_healthy, strange, warm } = current();
    const all = runs.all();
    const removing = all.filter(({ answered }) => answered).length;
    metrics.sandboxes.set(all.length - removing, { state: "running" });
    metrics.sandboxes.set(removing, { state: "removing" });
    metrics.slots.set(gate.slots, { state: "total" });
    metrics.slots.set(all.length, { state: "used" });
    metrics.slots.set(gate.others, { state: "others" });
    metrics.slots.set(gate.isOpen ? Math.max(0, gate.slots - all.length - gate.others) : 0, { state: "free" });
    const keys = warm.pool.counts();
    metrics.pool_sandboxes.set(sum(keys, "ready"), { state: "ready" });
    metrics.pool_sandboxes.set(sum(keys, "filling"), { state: "filling" });
    metrics.pool_memory_mb.set(warm.pool.room().memory_mb);
    metrics.lease_left_seconds.set(lease.leftMs() / 1_000);
    metrics.strange_sandboxes.set(strange?.sandboxes.length ?? 0);
    metrics.engine_healthy.set(engine_healthy ? 1 : 0);
  });
}
