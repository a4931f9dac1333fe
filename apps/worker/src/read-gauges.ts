import type { Metrics } from "@holdfast/chassis";
import type { BootState } from "./boot/boot-state.js";
import type { WorkerMetrics } from "./worker-metrics.js";

/** Gauges that are read from the present boot whenever somebody asks. */
export function readGauges(registry: Metrics, metrics: WorkerMetrics, current: () => BootState): void {
  registry.onCollect(() => {
    const { runs, gate, lease, engine_healthy, strange } = current();
    const all = runs.all();
    const removing = all.filter(({ answered }) => answered).length;
    metrics.sandboxes.set(all.length - removing, { state: "running" });
    metrics.sandboxes.set(removing, { state: "removing" });
    metrics.slots.set(gate.slots, { state: "total" });
    metrics.slots.set(all.length, { state: "used" });
    metrics.slots.set(gate.others, { state: "others" });
    metrics.slots.set(gate.isOpen ? Math.max(0, gate.slots - all.length - gate.others) : 0, { state: "free" });
    metrics.lease_left_seconds.set(lease.leftMs() / 1_000);
    metrics.strange_sandboxes.set(strange?.sandboxes.length ?? 0);
    metrics.engine_healthy.set(engine_healthy ? 1 : 0);
  });
}
