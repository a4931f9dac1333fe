import type { Metrics } from "@holdfast/chassis";
import { AMOUNT_KEYS, type HostView, LIMIT_KEYS, SCOPE_KINDS } from "@holdfast/contract";
import type { Ledger, LimitsReply } from "@holdfast/ledger";
import { SHARED_QUEUE, type TaskQueue } from "@holdfast/queue";

export interface FleetSources {
  readonly ledger: Pick<Ledger, "hosts" | "ping">;
  readonly queue: Pick<TaskQueue, "counts">;
}

/** A scrape that waits longer than this for Redis reports the ledger as down. */
const READ_DEADLINE_MS = 2_000;

function gaugesOf(metrics: Metrics) {
  const gauge = (name: string, help: string, labels: readonly string[] = []) => metrics.gauge({ name, help, labels });
  return {
    ledger_up: gauge("holdfast_ledger_up", "1 if the ledger answered this scrape, else 0."),
    jobs: gauge("holdfast_queue_jobs", "Jobs of the shared queue by state.", ["state"]),
    paused: gauge(
      "holdfast_queue_paused",
      "1 if somebody paused the shared queue, so that nothing is fetched, else 0.",
    ),
    hosts: gauge("holdfast_hosts", "Registered hosts by state of their engine.", ["engine"]),
    draining: gauge("holdfast_hosts_draining", "Hosts taken out of service by a drain."),
    boots: gauge("holdfast_boots", "Boots by state.", ["state"]),
    limits: gauge("holdfast_fleet_limit", "Sum of the hosts' limits by amount.", ["amount"]),
    reserved: gauge("holdfast_fleet_reserved", "Sum of what is reserved by amount.", ["amount"]),
    set: gauge("holdfast_fleet_limit_set", "Limit set for the fleet by amount; +Inf where none is.", ["amount"]),
    used: gauge("holdfast_fleet_used", "What counts against the fleet's limits by amount.", ["amount"]),
    waiting: gauge("holdfast_tasks_waiting", "Tasks that wait for want of room, by the scope that lacks it.", [
      "scope",
    ]),
  };
}

function sumOf(hosts: readonly HostView[], pick: (host: HostView) => number): number {
  return hosts.reduce((sum, host) => sum + pick(host), 0);
}

function showLimits(gauges: ReturnType<typeof gaugesOf>, { scopes, waiting }: LimitsReply): void {
  for (const scope of SCOPE_KINDS) gauges.waiting.set(waiting[scope], { scope });
  const fleet = scopes.find(({ scope }) => scope === "fleet");
  for (const amount of LIMIT_KEYS) {
    gauges.set.set(fleet?.limits[amount] ?? Number.POSITIVE_INFINITY, { amount });
    gauges.used.set(fleet?.used[amount] ?? 0, { amount });
  }
}

/** Registers gauges of the fleet that are read from the ledger at each scrape. They hold no ids. */
export function registerFleetGauges(metrics: Metrics, sources: FleetSources): void {
  const gauges = gaugesOf(metrics);

  async function read(): Promise<void> {
    if (!(await sources.ledger.ping(READ_DEADLINE_MS))) throw new Error("the ledger did not answer");
    const [counts, hosts, limits] = await Promise.all([
      sources.queue.counts(SHARED_QUEUE),
      sources.ledger.hosts.list(),
      sources.ledger.hosts.limits(0),
    ]);
    showLimits(gauges, limits);
    for (const state of ["waiting", "active", "parked"] as const) gauges.jobs.set(counts[state], { state });
    gauges.paused.set(counts.paused ? 1 : 0);
    const healthy = hosts.filter((host) => host.engine_healthy).length;
    gauges.hosts.set(healthy, { engine: "healthy" });
    gauges.hosts.set(hosts.length - healthy, { engine: "sick" });
    gauges.draining.set(hosts.filter((host) => host.draining).length);
    const boots = hosts.flatMap((host) => host.boots);
    for (const state of ["LIVE", "DRAINING", "DEAD"] as const) {
      gauges.boots.set(boots.filter((boot) => boot.state === state).length, { state });
    }
    for (const amount of AMOUNT_KEYS) {
      gauges.limits.set(
        sumOf(hosts, (host) => host.limits[amount]),
        { amount },
      );
      gauges.reserved.set(
        sumOf(hosts, (host) => host.reserved[amount]),
        { amount },
      );
    }
  }

  metrics.onCollect(async () => {
    const up = await read().then(
      () => 1,
      () => 0,
    );
    gauges.ledger_up.set(up);
  });
}
