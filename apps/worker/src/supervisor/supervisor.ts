/**
 * The duties that care for a fleet as a process of its own, for hosts whose worker may be down for long. It takes no
 * tasks and is no boot; any number of them may run beside any number of workers.
 */
import {
  createLogger,
  createMetrics,
  type Duty,
  deadline,
  type Logger,
  type Metrics,
  maskSecrets,
  type RunningDuty,
  startDuty,
  startHealthServer,
} from "@holdfast/chassis";
import { type FleetId, HoldfastError, type HostId } from "@holdfast/contract";
import { type EngineCare, openEngineCare } from "@holdfast/engine";
import { type Ledger, openLedger } from "@holdfast/ledger";
import { openTaskQueue, type TaskQueue } from "@holdfast/queue";
import { createLease, type Lease } from "../boot/lease.js";
import { joinFleet, StartRefused } from "../boot/start-checks.js";
import { createCareMetrics } from "../care-metrics.js";
import { engineSocketOf, retentionOf, WORKER_SECRETS, type WorkerConfig } from "../config.js";
import { bootWatchDuty } from "../duties/boot-watch.js";
import type { Care } from "../duties/care.js";
import { healingDuty, queueTimeoutsDuty, waitingHeadsDuty } from "../duties/queue-care.js";
import { recoveryDuty } from "../duties/recovery.js";
import { retentionDuty } from "../duties/retention.js";
import { sweepDuty } from "../duties/sweep.js";
import { createBootSights } from "../recovery/boot-sights.js";
import { contactDuty } from "./contact.js";
import { type EngineSeen, engineLookDuty } from "./engine-look.js";

export interface SupervisorOptions {
  readonly logger?: Logger;
  readonly metrics?: Metrics;
}

export interface RunningSupervisor {
  readonly fleet_id: FleetId;
  /** Null while it serves the ledger alone. */
  readonly host_id: HostId | null;
  readonly health_port: number;
  /** The ledger answers it. */
  ready(): boolean;
  /** Ends the passes under way and closes. May be called twice. */
  stop(): Promise<void>;
}

interface Opened {
  readonly config: WorkerConfig;
  readonly ledger: Ledger;
  readonly queue: TaskQueue;
  readonly lease: Lease;
  readonly registry: Metrics;
  readonly logger: Logger;
}

type Supervised = Care & EngineSeen & { readonly engine: EngineCare };

/** Redis may be away while it ends: nothing of its end waits for that longer than this. */
const DUTIES_END_MS = 3_000;

function supervisedBy({ config, ledger, queue, lease, registry, logger }: Opened, fleet_id: FleetId): Supervised {
  return {
    boot_id: null,
    host_id: null,
    ledger,
    queue,
    engine: openEngineCare({
      socket_path: engineSocketOf(config),
      fleet_id,
      onNotice: ({ event, ...fields }) => logger.warn(event, fields),
    }),
    engine_healthy: false,
    lease,
    held: new Set(),
    logger,
    metrics: createCareMetrics(registry),
    sights: createBootSights(),
    strange: null,
    pokeSweep: () => {},
    pokeRecovery: () => {},
    pokeBootWatch: () => {},
  };
}

function startDuties(care: Supervised, contact: Duty, loop: (duty: Duty) => RunningDuty): RunningDuty[] {
  const sweep = loop(sweepDuty(care));
  const recovery = loop(recoveryDuty(care));
  const watch = loop(bootWatchDuty(care));
  care.pokeSweep = sweep.poke;
  care.pokeRecovery = recovery.poke;
  care.pokeBootWatch = watch.poke;
  const moving = [healingDuty(care), queueTimeoutsDuty(care), waitingHeadsDuty(care)];
  const others = [engineLookDuty(care), ...moving, retentionDuty(care)];
  return [loop(contact), sweep, recovery, watch, ...others.map(loop)];
}

/** Starts a supervisor and resolves once the ledger has answered. An engine is served whenever one answers. */
export async function startSupervisor(
  config: WorkerConfig,
  options: SupervisorOptions = {},
): Promise<RunningSupervisor> {
  const registry = options.metrics ?? createMetrics();
  const logger = options.logger ?? createLogger({ name: "supervisor", level: config.HOLDFAST_LOG_LEVEL });
  logger.info("supervisor_starting", { config: maskSecrets(config, WORKER_SECRETS) });
  const ledger = await openLedger({ url: config.REDIS_URL, prefix: config.HOLDFAST_PREFIX, role: "supervisor" });
  const queue = openTaskQueue({ ledger, prefix: config.HOLDFAST_QUEUE_PREFIX });
  const lease = createLease();
  const { HOLDFAST_HEALTH_HOST: host, HOLDFAST_SUPERVISE_PORT: port } = config;
  const ready = (): boolean => lease.mayAct();
  try {
    const health = await startHealthServer({ host, port, metrics: registry, live: () => true, ready });
    try {
      for (const { message } of await ledger.serverProblems()) logger.warn("server_refused_by_workers", { message });
      const opened = { config, ledger, queue, lease, registry, logger };
      // An empty ledger is never born here: whether it lost its records is for those to say who serve a host.
      const fleet_id = await joinFleet(ledger, config.HOLDFAST_FLEET ?? null, false);
      await ledger.retention.set(retentionOf(config));
      return await serve(opened, fleet_id, health);
    } catch (error) {
      await health.close();
      throw error;
    }
  } catch (error) {
    await queue.close();
    await ledger.close();
    throw error instanceof HoldfastError ? new StartRefused(error.message) : error;
  }
}

async function serve(
  opened: Opened,
  fleet_id: FleetId,
  health: { readonly port: number; close(): Promise<void> },
): Promise<RunningSupervisor> {
  const { ledger, queue, lease, registry, logger } = opened;
  const care = supervisedBy(opened, fleet_id);
  const contact = contactDuty({ ledger, lease, fleet_id });
  const duties = startDuties(care, contact, (duty) => startDuty(duty, { logger, metrics: registry }));
  await lease.whenMayAct();

  async function end(): Promise<void> {
    const ended = Promise.all(duties.map((duty) => duty.stop()));
    await deadline<unknown>(ended, DUTIES_END_MS, () => logger.warn("duties_not_ended"));
    lease.revoke();
    await health.close();
    await queue.close();
    await ledger.close();
    logger.info("supervisor_stopped");
  }

  let ending: Promise<void> | null = null;
  return {
    fleet_id,
    get host_id() {
      return care.host_id;
    },
    health_port: health.port,
    ready: () => ending === null && lease.mayAct(),
    stop: () => {
      ending ??= end();
      return ending;
    },
  };
}
