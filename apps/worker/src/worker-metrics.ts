/** The names of everything this program measures; docs/metrics.md lists them. */
import type { Counter, Gauge, Histogram, Metrics } from "@holdfast/chassis";
import { type CareMetrics, createCareMetrics } from "./care-metrics.js";

export interface WorkerMetrics extends CareMetrics {
  readonly tasks_total: Counter;
  readonly task_seconds: Histogram;
  readonly queue_wait_seconds: Histogram;
  readonly setup_seconds: Histogram;
  readonly run_seconds: Histogram;
  readonly settle_seconds: Histogram;
  readonly cleanup_seconds: Histogram;
  readonly requeued_total: Counter;
  readonly abandoned_total: Counter;
  readonly admits_total: Counter;
  readonly parks_total: Counter;
  readonly fenced_calls_total: Counter;
  readonly slots: Gauge;
  readonly sandboxes: Gauge;
  readonly output_bytes_total: Counter;
  readonly output_dropped_bytes_total: Counter;
  readonly lease_left_seconds: Gauge;
  readonly strange_sandboxes: Gauge;
  readonly boots_total: Counter;
  readonly consumer_rebuilds_total: Counter;
  readonly pool_claims_total: Counter;
  readonly pool_claim_age_seconds: Histogram;
  readonly pool_fill_seconds: Histogram;
  readonly pool_fill_failures_total: Counter;
  readonly pool_removed_total: Counter;
  readonly pool_sandboxes: Gauge;
  readonly pool_memory_mb: Gauge;
  readonly self_check_fit: Gauge;
  readonly self_check_failures_total: Counter;
}

/** What the platform does: its goals lie between 5 ms and a second, its deadlines at 30 and 60 s. */
const SHORT = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120];
/** What the work decides: up to the longest time limit, a day. */
const LONG = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400];

export function createWorkerMetrics(metrics: Metrics): WorkerMetrics {
  const counter = (name: string, help: string, ...labels: string[]): Counter =>
    metrics.counter({ name: `holdfast_${name}`, help, labels });
  const gauge = (name: string, help: string, ...labels: string[]): Gauge =>
    metrics.gauge({ name: `holdfast_${name}`, help, labels });
  const histogram = (name: string, help: string, buckets: readonly number[]): Histogram =>
    metrics.histogram({ name: `holdfast_${name}`, help, buckets });
  return {
    ...createCareMetrics(metrics),
    tasks_total: counter("tasks_total", "Tasks settled by this worker.", "status", "fault"),
    task_seconds: histogram("task_seconds", "From grant to settle of one attempt.", LONG),
    queue_wait_seconds: histogram("queue_wait_seconds", "From accept to grant.", LONG),
    setup_seconds: histogram("setup_seconds", "From grant to the command's start.", SHORT),
    run_seconds: histogram("run_seconds", "From the command's start to its end.", LONG),
    settle_seconds: histogram("settle_seconds", "From the command's end to the answered settle.", SHORT),
    cleanup_seconds: histogram("cleanup_seconds", "From settle to the answered release.", SHORT),
    requeued_total: counter("requeued_total", "Attempts handed back.", "reason"),
    abandoned_total: counter("abandoned_total", "Runs ended unsettled."),
    admits_total: counter("admits_total", "Answers of admit.", "answer"),
    parks_total: counter("parks_total", "Deliveries that admit parked for want of room.", "scope"),
    fenced_calls_total: counter("fenced_calls_total", "Calls that the ledger refused for good.", "call"),
    slots: gauge("slots", "Slots of this worker by state.", "state"),
    sandboxes: gauge("sandboxes", "Sandboxes of this worker by state.", "state"),
    output_bytes_total: counter("output_bytes_total", "Output taken from commands.", "stream"),
    output_dropped_bytes_total: counter("output_dropped_bytes_total", "Output left out of the event streams."),
    lease_left_seconds: gauge("lease_left_seconds", "What is left of the boot's lease on the worker's own clock."),
    strange_sandboxes: gauge("strange_sandboxes", "Sandboxes alive on the engine that this worker does not hold."),
    boots_total: counter("boots_total", "Boots this process went through.", "began_after"),
    self_check_fit: gauge("self_check_fit", "1 while all that was proved of the host holds."),
    self_check_failures_total: counter("self_check_failures_total", "Checks of the host that failed.", "check"),
    consumer_rebuilds_total: counter("consumer_rebuilds_total", "Consumers rebuilt since they fetched nothing."),
    pool_claims_total: counter("pool_claims_total", "Tasks that asked the pool for a warm sandbox.", "answer"),
    pool_claim_age_seconds: histogram("pool_claim_age_seconds", "How long a sandbox had waited for its task.", LONG),
    pool_fill_seconds: histogram("pool_fill_seconds", "From asking for a warm sandbox to its verification.", SHORT),
    pool_fill_failures_total: counter("pool_fill_failures_total", "Warm sandboxes that did not come to be."),
    pool_removed_total: counter("pool_removed_total", "Warm sandboxes destroyed unused.", "why"),
    pool_sandboxes: gauge("pool_sandboxes", "Warm sandboxes of this worker by state.", "state"),
    pool_memory_mb: gauge("pool_memory_mb", "Memory that sandboxes of the pool hold, in MiB."),
  };
}
