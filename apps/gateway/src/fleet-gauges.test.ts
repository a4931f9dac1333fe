import { createMetrics } from "@holdfast/chassis";
import type { LimitsReply } from "@holdfast/ledger";
import { expect, test } from "vitest";
import { type FleetSources, registerFleetGauges } from "./fleet-gauges.js";

const none = { slots: null, cpu_milli: null, memory_mb: null, pids: null, queued: null, pending_bytes: null };
const used = { slots: 3, cpu_milli: 3_000, memory_mb: 900, pids: 400, queued: 7, pending_bytes: 4_096 };

const LIMITS: LimitsReply = {
  scopes: [{ scope: "fleet", id: "all", limits: { ...none, slots: 5 }, used }],
  waiting: { host: 1, workspace: 2, fleet: 4 },
  cursor: null,
};

test("the fleet's limits and use are told by amount, and waiters by the scope that lacks room, without any id", async () => {
  const metrics = createMetrics();
  registerFleetGauges(metrics, {
    ledger: { ping: async () => true, hosts: { list: async () => [], limits: async () => LIMITS } },
    queue: { counts: async () => ({ waiting: 0, active: 0, parked: 0 }) },
  } as unknown as FleetSources);

  const text = await metrics.text();

  for (const line of [
    'holdfast_fleet_limit_set{amount="slots"} 5',
    'holdfast_fleet_limit_set{amount="queued"} +Inf',
    'holdfast_fleet_used{amount="queued"} 7',
    'holdfast_fleet_used{amount="pending_bytes"} 4096',
    'holdfast_tasks_waiting{scope="host"} 1',
    'holdfast_tasks_waiting{scope="workspace"} 2',
    'holdfast_tasks_waiting{scope="fleet"} 4',
  ]) {
    expect(text).toContain(line);
  }
});

test("hosts that are out of service are counted", async () => {
  const host = { engine_healthy: true, boots: [], limits: used, reserved: used };
  const hosts = [true, false, true].map((draining) => ({ ...host, draining }));
  const metrics = createMetrics();
  registerFleetGauges(metrics, {
    ledger: { ping: async () => true, hosts: { list: async () => hosts, limits: async () => LIMITS } },
    queue: { counts: async () => ({ waiting: 0, active: 0, parked: 0 }) },
  } as unknown as FleetSources);

  const text = await metrics.text();

  expect(text).toContain("holdfast_hosts_draining 2");
  expect(text).toContain('holdfast_hosts{engine="healthy"} 3');
});
