/** The worker takes tasks, drives sandboxes on its host, runs the duties. After a boot that is over comes another. */
import { randomInt } from "node:crypto";
import { setMaxListeners } from "node:events";
import { createRequire } from "node:module";
import {
  createLogger,
  createMetrics,
  type HealthServer,
  type Logger,
  type Metrics,
  maskSecrets,
  pause,
  startHealthServer,
} from "@holdfast/chassis";
import { type BootId, type FleetId, HoldfastError, type HostId } from "@holdfast/contract";
import { isNewHost, type OpenEngine, openEngine } from "@holdfast/engine";
import { type Ledger, openLedger } from "@holdfast/ledger";
import { openTaskQueue } from "@holdfast/queue";
import { type Boot, type BootDeps, startBoot } from "./boot/boot.js";
import { createFitness, type FitnessTimes } from "./boot/fitness.js";
import { checkServer, isRefusal, joinFleet, StartRefused } from "./boot/start-checks.js";
import { engineSocketOf, retentionOf, WORKER_SECRETS, type WorkerConfig } from "./config.js";
import { readGauges } from "./read-gauges.js";
import { createWorkerMetrics } from "./worker-metrics.js";

export interface WorkerOptions {
  readonly logger?: Logger;
  readonly metrics?: Metrics;
  /** Opens what sandboxes are made on; the Docker Engine of this machine by default. */
  readonly openEngine?: OpenEngine;
}

export interface RunningWorker {
  readonly fleet_id: FleetId;
  readonly host_id: HostId;
  /** Of the present boot. */
  readonly boot_id: BootId;
  readonly health_port: number;
  /** A real sandbox was verified here, the boot is registered and its lease stands, and it takes tasks in. */
  ready(): boolean;
  /** Its host is out of service, and it takes nothing in until that is taken back. */
  readonly host_draining: boolean;
  /** Names of the checks of its host that failed: it takes nothing in until they pass. */
  readonly failed_checks: readonly string[];
  /** Takes nothing new and lets running tasks end within the grace; what is left is handed back. */
  drain(): Promise<void>;
  /** Drains, retires and closes. May be called twice. */
  stop(): Promise<void>;
}

/** After the grace, for killing, handing back and proving. Then the process ends and others clean up. */
const HAND_BACK_MS = 30_000;
const TAIL_MAY_BE_LOST =
  "Redis acknowledges what it has not written (appendfsync is not always): a crash may forget the last acceptances and outcomes.";
const BOOT_RETRY_MS = 1_000;
const BOOT_RETRY_MS_MAX = 10_000;

/** An empty ledger is born, and not one that lost its records, where this host bears no fleet yet. */
async function joinAsHost(ledger: Ledger, config: WorkerConfig): Promise<FleetId> {
  const wanted = config.HOLDFAST_FLEET ?? null;
  const born = wanted === null || (await isNewHost(engineSocketOf(config), wanted));
  return joinFleet(ledger, wanted, born);
}

function fitnessTimes(config: WorkerConfig): FitnessTimes {
  return {
    every_ms: config.HOLDFAST_SELF_CHECK_SECONDS * 1_000,
    retry_ms: config.HOLDFAST_SELF_CHECK_RETRY_SECONDS * 1_000,
    jitter: () => 0.9 + randomInt(201) / 1_000,
  };
}

function programVersion(): string {
  const manifest: { version: string } = createRequire(import.meta.url)("../package.json");
  return manifest.version;
}

/** Goes on under a new boot each time the ledger has declared the present one over. */
function supervise(deps: BootDeps, first: Boot, stopping: AbortSignal) {
  let boot = first;

  async function next(): Promise<Boot | null> {
    for (let tries = 0; !stopping.aborted; tries += 1) {
      try {
        const fleet = await deps.ledger.fleet(deps.fleet_id);
        if (fleet.fleet_id !== deps.fleet_id) throw new StartRefused(`this ledger is now of ${fleet.fleet_id}`);
        return await startBoot(deps);
      } catch (error) {
        const level = isRefusal(error) ? "error" : "warn";
        deps.logger[level]("boot_not_started", { error });
        await pause(Math.min(BOOT_RETRY_MS * 2 ** tries, BOOT_RETRY_MS_MAX), stopping);
      }
    }
    return null;
  }

  async function watch(): Promise<void> {
    while (!stopping.aborted) {
      await boot.state.lease.whenRevoked;
      if (stopping.aborted) return;
      await boot.abandon("boot_over");
      await boot.close(false);
      const successor = await next();
      if (successor === null) return;
      deps.metrics.boots_total.add(1, { began_after: "boot_over" });
      boot = successor;
    }
  }

  const watching = watch().catch((error: unknown) => deps.logger.error("boot_supervision_failed", { error }));
  return { current: () => boot, watching };
}

/** What the health pages ask, from before the first boot is there. */
interface Serving {
  boots: { current(): Boot } | null;
}

function serveHealth(config: WorkerConfig, metrics: Metrics, ready: () => boolean): Promise<HealthServer> {
  const { HOLDFAST_HEALTH_HOST: host, HOLDFAST_HEALTH_PORT: port } = config;
  return startHealthServer({ host, port, metrics, live: () => true, ready });
}

/** Starts a worker and resolves when it takes tasks. Throws StartRefused with both values shown where it may not. */
export async function startWorker(config: WorkerConfig, options: WorkerOptions = {}): Promise<RunningWorker> {
  const registry = options.metrics ?? createMetrics();
  const logger = options.logger ?? createLogger({ name: "worker", level: config.HOLDFAST_LOG_LEVEL });
  logger.info("worker_starting", { config: maskSecrets(config, WORKER_SECRETS) });
  const ledger = await openLedger({ url: config.REDIS_URL, prefix: config.HOLDFAST_PREFIX, role: "worker" });
  const queue = openTaskQueue({ ledger, prefix: config.HOLDFAST_QUEUE_PREFIX });
  const giveUp = new AbortController();
  const given_up = giveUp.signal;
  // Each run that is being cleaned up listens.
  setMaxListeners(0, given_up);
  const closeAll = async (): Promise<void> => {
    await queue.close();
    await ledger.close();
  };
  const serving: Serving = { boots: null };
  const health = await serveHealth(config, registry, () => serving.boots?.current().ready() ?? false);
  try {
    for (const { message } of await checkServer(ledger, config)) logger.warn("server_accepted_by_setting", { message });
    if ((await ledger.tailKept()) === "may_be_lost")
      logger.warn("redis_may_lose_its_tail", { message: TAIL_MAY_BE_LOST });
    const fleet_id = await joinAsHost(ledger, config);
    await ledger.retention.set(retentionOf(config));
    const metrics = createWorkerMetrics(registry);
    const program_version = programVersion();
    const opens = { openEngine: options.openEngine ?? openEngine };
    const fitness = createFitness(fitnessTimes(config));
    const deps = {
      ...opens,
      fitness,
      config,
      ledger,
      queue,
      fleet_id,
      logger,
      registry,
      metrics,
      program_version,
      given_up,
    };
    const first = await startBoot({ ...deps, pulls: true });
    metrics.boots_total.add(1, { began_after: "start" });
    return await serve(deps, first, giveUp, serving, health, closeAll);
  } catch (error) {
    await health.close();
    await closeAll();
    throw error instanceof HoldfastError ? new StartRefused(error.message) : error;
  }
}

async function serve(
  deps: BootDeps,
  first: Boot,
  giveUp: AbortController,
  serving: Serving,
  health: HealthServer,
  closeAll: () => Promise<void>,
): Promise<RunningWorker> {
  const { config, registry, logger } = deps;
  const stopping = new AbortController();
  const boots = supervise(deps, first, stopping.signal);
  serving.boots = boots;
  readGauges(registry, deps.metrics, () => boots.current().state);
  const ready = (): boolean => !stopping.signal.aborted && boots.current().ready();
  await first.state.lease.whenMayAct();

  async function drain(): Promise<void> {
    const grace_ms = config.HOLDFAST_DRAIN_GRACE_SECONDS * 1_000;
    const over = setTimeout(() => giveUp.abort(), grace_ms + HAND_BACK_MS);
    await boots.current().drain(grace_ms);
    clearTimeout(over);
  }

  async function end(): Promise<void> {
    stopping.abort();
    await drain();
    giveUp.abort();
    await boots.current().close(true);
    await boots.watching;
    await health.close();
    await closeAll();
    logger.info("worker_stopped");
  }

  let ending: Promise<void> | null = null;
  return {
    fleet_id: deps.fleet_id,
    get host_id() {
      return boots.current().state.host_id;
    },
    get boot_id() {
      return boots.current().state.boot_id;
    },
    health_port: health.port,
    ready,
    get host_draining() {
      return boots.current().state.gate.reasons.includes("host_draining");
    },
    get failed_checks() {
      return deps.fitness.failed;
    },
    drain,
    stop: () => {
      ending ??= end();
      return ending;
    },
  };
}
