/** The names of what the caring duties measure, in a worker and in a supervisor alike; docs/metrics.md lists them. */
import type { Counter, Gauge, Metrics } from "@holdfast/chassis";

export interface CareMetrics {
  readonly promotions_total: Counter;
  readonly engine_healthy: Gauge;
  readonly sweep_removed_total: Counter;
  readonly sweep_stuck: Gauge;
  readonly boots_buried_total: Counter;
  readonly dead_boots_holding: Gauge;
  readonly tasks_recovered_total: Counter;
  readonly reservations_freed_total: Counter;
  readonly retention_removed_total: Counter;
}

export function createCareMetrics(metrics: Metrics): CareMetrics {
  const counter = (name: string, help: string, ...labels: string[]): Counter =>
    metrics.counter({ name: `holdfast_${name}`, help, labels });
  const gauge = (name: string, help: string, ...labels: string[]): Gauge =>
    metrics.gauge({ name: `holdfast_${name}`, help, labels });
  return {
    promotions_total: counter("promotions_total", "Waiters and followers that this process woke.", "woken_by"),
    engine_healthy: gauge("engine_healthy", "1 while the engine answers its pings."),
    sweep_removed_total: counter("sweep_removed_total", "Containers removed by the sweep."),
    sweep_stuck: gauge("sweep_stuck", "Containers whose removal does not come to an end."),
    boots_buried_total: counter("boots_buried_total", "Boots that this process declared dead."),
    dead_boots_holding: gauge("dead_boots_holding", "Dead boots whose capacity is not free yet."),
    tasks_recovered_total: counter("tasks_recovered_total", "Tasks taken from dead boots.", "became"),
    reservations_freed_total: counter("reservations_freed_total", "Reservations of dead boots given back.", "right"),
    retention_removed_total: counter("retention_removed_total", "What was kept long enough, and was removed.", "kind"),
  };
}
