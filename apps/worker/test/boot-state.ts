/** A boot's state around what a test scripts of ledger, queue and engine. */
import { type Clock, createMetrics, silentLogger } from "@holdfast/chassis";
import type { BootId, HostId } from "@holdfast/contract";
import type { BootState } from "../src/boot/boot-state.js";
import { createFitness } from "../src/boot/fitness.js";
import { createGate } from "../src/boot/gate.js";
import { createLease } from "../src/boot/lease.js";
import { createRuns } from "../src/boot/runs.js";
import { createTokenBook } from "../src/boot/token-book.js";
import { readWorkerConfig } from "../src/config.js";
import { openWarmStarts } from "../src/pool/warm-starts.js";
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
  /** Environment of the worker; without it there is no pool. */
  readonly settings?: Readonly<Record<string, string>>;
}

export function bootStateOf({
  boots = {},
  tasks = {},
  hosts = {},
  queue = {},
  engine = {},
  clock,
  settings,
}: Scripted): BootState {
  const registry = createMetrics();
  const metrics = createWorkerMetrics(registry);
  const logger = silentLogger();
  const lease = createLease(clock === undefined ? {} : { clock });
  const [gate, tokens] = [createGate(4), createTokenBook()];
  const given_up = new AbortController().signal;
  const config = readWorkerConfig({ HOLDFAST_POOL: "0", ...settings });
  const whole = { images: [], ...engine } as unknown as BootState["engine"];
  const warm = openWarmStarts({ config, engine: whole, lease, gate, metrics, logger, given_up });
  return {
    boot_id: OWN_BOOT,
    host_id: OWN_HOST,
    ledger: { boots, tasks, hosts } as unknown as BootState["ledger"],
    queue: queue as BootState["queue"],
    engine: whole,
    lease,
    gate,
    tokens,
    runs: createRuns(),
    warm,
    held: { has: (id) => tokens.sandboxes.has(id) || warm.pool.holds(id) },
    logger,
    metrics,
    registry,
    fence_seen: null,
    engine_healthy: true,
    fitness: createFitness({ every_ms: 3_600_000, retry_ms: 60_000, jitter: () => 1 }),
    sights: createBootSights(),
    strange: null,
    given_up,
    pokeBeat: () => {},
    pokeSweep: () => {},
    pokeRecovery: () => {},
    pokeBootWatch: () => {},
    pokeEngineHealth: () => {},
    pokePool: () => {},
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
