/** A boot's state around what a test scripts of ledger, queue and engine. */
import { type Clock, createMetrics, silentLogger } from "@holdfast/chassis";
import type { BootId, HostId } from "@holdfast/contract";
import type { BootState } from "../src/boot/boot-state.js";
import { createGate } from "../src/boot/gate.js";
import { createLease } from "../src/boot/lease.js";
import { createRuns } from "../src/boot/runs.js";
import { createTokenBook } from "../src/boot/token-book.js";
import { createBootSights } from "../src/recovery/boot-sights.js";
import { createWorkerMetrics } from "../src/worker-metrics.js";

export const OWN_BOOT = "boot_1" as BootId;
export const OWN_HOST = "host_1" as HostId;

/** What a test scripts: only what the code under test calls. */
export interface Scripted {
  readonly boots?: Partial<BootState["ledger"]["boots"]>;
  readonly tasks?: object;
  readonly hosts?: object;
  readonly queue?: object;
  readonly engine?: object;
  readonly clock?: Clock;
}

export function bootStateOf({
  boots = {},
  tasks = {},
  hosts = {},
  queue = {},
  engine = {},
  clock,
}: Scripted): BootState {
  const registry = createMetrics();
  return {
    boot_id: OWN_BOOT,
    host_id: OWN_HOST,
    ledger: { boots, tasks, hosts } as unknown as BootState["ledger"],
    queue: queue as BootState["queue"],
    engine: engine as BootState["engine"],
    lease: createLease(clock === undefined ? {} : { clock }),
    gate: createGate(4),
    tokens: createTokenBook(),
    runs: createRuns(),
    logger: silentLogger(),
    metrics: createWorkerMetrics(registry),
    registry,
    fence_seen: null,
    engine_healthy: true,
    sights: createBootSights(),
    strange: null,
    given_up: new AbortController().signal,
    pokeBeat: () => {},
    pokeSweep: () => {},
    pokeRecovery: () => {},
    pokeBootWatch: () => {},
    pokeEngineHealth: () => {},
  };
}

/** A clock that moves only when it is told to. */
export function handClock() {
  let now_ms = 1_000;
  return {
    monotonicMs: () => now_ms,
    wallMs: () => now_ms,
    bootMs: () => now_ms,
    pass: (ms: number): void => {
      now_ms += ms;
    },
  };
}
