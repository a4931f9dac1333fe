/**
 * One boot: from registering to its end. It is over when the ledger calls it unknown or DEAD, or when the worker
 * stops; a worker may live through several, each with an id, an engine connection and consumers of its own.
 */
import {
  type Duty,
  deadline,
  type Logger,
  type Metrics,
  monotonicMs,
  pause,
  type RunningDuty,
  startDuty,
  unlessAborted,
} from "@holdfast/chassis";
import { type BootId, drawBootId, type FleetId } from "@holdfast/contract";
import type { Check, Engine, OpenEngine } from "@holdfast/engine";
import { bootQueue, type Ledger } from "@holdfast/ledger";
import { SHARED_QUEUE, type TaskQueue } from "@holdfast/queue";
import { engineSocketOf, type WorkerConfig } from "../config.js";
import { beatDuty } from "../duties/beat.js";
import { bootWatchDuty } from "../duties/boot-watch.js";
import { consumptionWatchdog } from "../duties/consumption-watchdog.js";
import { engineHealthDuty } from "../duties/engine-health.js";
import { heartbeatsDuty } from "../duties/heartbeats.js";
import { hostSlotsDuty } from "../duties/host-slots.js";
import { oldAgentsDuty } from "../duties/old-agents.js";
import { ownQueueDuty, sendBack } from "../duties/own-queue.js";
import { giveBackSlice, poolRefillDuty } from "../duties/pool-refill.js";
import { healingDuty, queueTimeoutsDuty, waitingHeadsDuty } from "../duties/queue-care.js";
import { recoveryDuty } from "../duties/recovery.js";
import { retentionDuty } from "../duties/retention.js";
import { conclude, followFitness, selfCheckDuty } from "../duties/self-check.js";
import { sweepDuty } from "../duties/sweep.js";
import { type Intake, openIntake } from "../intake/consume.js";
import { hasPlaces } from "../pool/wanted.js";
import { openWarmStarts } from "../pool/warm-starts.js";
import { createBootSights } from "../recovery/boot-sights.js";
import type { Order } from "../run/orders.js";
import type { WorkerMetrics } from "../worker-metrics.js";
import type { BootState } from "./boot-state.js";
import type { Fitness } from "./fitness.js";
import { createGate } from "./gate.js";
import { type HostLimits, hostLimits } from "./host-limits.js";
import { createLease } from "./lease.js";
import { createRuns } from "./runs.js";
import { checkImages, checkRegistered } from "./start-checks.js";
import { createTokenBook } from "./token-book.js";

export interface BootDeps {
  readonly config: WorkerConfig;
  readonly ledger: Ledger;
  readonly queue: TaskQueue;
  readonly fleet_id: FleetId;
  readonly logger: Logger;
  readonly registry: Metrics;
  readonly metrics: WorkerMetrics;
  readonly program_version: string;
  readonly openEngine: OpenEngine;
  readonly fitness: Fitness;
  /** Images that may be pulled are: at the worker's start, not when it goes on under another boot. */
  readonly pulls?: boolean;
  readonly given_up: AbortSignal;
}

export interface Boot {
  readonly state: BootState;
  ready(): boolean;
  /** Takes nothing new; running tasks have `grace_ms`, then they are handed back. Resolves when nothing is left. */
  drain(grace_ms: number): Promise<void>;
  /** Ends every run without a write: the ledger knows this boot no more. */
  abandon(reason: string): Promise<void>;
  /** Ends the duties and connections of this boot. `retire` where it holds nothing. */
  close(retire: boolean): Promise<void>;
}

const CONSUMER_CLOSE_MS = 5_000;

/** A sandbox that cannot be proven gone must not keep the next boot waiting: it is tried on beside it. */
const ABANDON_MS = 30_000;

/** Redis may be away while a worker ends: nothing of its end waits for it longer than this. */
const LEDGER_CALL_MS = 3_000;

async function within(call: Promise<unknown>, onFailure: () => void): Promise<void> {
  const late = (): never => {
    throw new Error("no answer in time");
  };
  await deadline(call, LEDGER_CALL_MS, late).catch(onFailure);
}

async function openHost(deps: BootDeps, boot_id: BootId, logger: Logger) {
  const engine = await deps.openEngine({
    socket_path: engineSocketOf(deps.config),
    fleet_id: deps.fleet_id,
    boot_id,
    images_file: deps.config.HOLDFAST_IMAGES,
    ...(deps.pulls ? { pull: { credentials_file: deps.config.HOLDFAST_REGISTRY_CREDENTIALS ?? null } } : {}),
    agent_directory: deps.config.HOLDFAST_AGENT_DIRECTORY,
    onNotice: ({ event, ...fields }) => logger[event === "image_pull" ? "info" : "warn"](event, fields),
  });
  try {
    checkImages(engine);
    for (const { expected, ...refused } of engine.refused_images) {
      logger[expected ? "info" : "warn"]("image_not_offered", refused);
    }
    return { engine, checks: await proveHost(deps, engine) };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** What the self-check found, which stands for a probe; null where what was proved still holds, and a probe will do. */
async function proveHost({ fitness }: BootDeps, engine: Engine): Promise<readonly Check[] | null> {
  if (fitness.isDue(monotonicMs())) return engine.selfCheck();
  await engine.probe();
  return null;
}

/** What the kernel and the disk have room for bounds what is offered; limits of the operator stay. */
async function offeredLimits(deps: BootDeps, engine: Engine, logger: Logger): Promise<HostLimits> {
  const limits = hostLimits(deps.config, engine.facts, await engine.walls());
  for (const met of limits.lowered) logger.warn("default_limit_lowered", { ...met });
  for (const met of limits.exceeded) logger.warn("limit_exceeds_wall", { ...met });
  return limits;
}

async function register(deps: BootDeps, engine: Engine, logger: Logger) {
  const { wanted, defaults } = await offeredLimits(deps, engine, logger);
  const reply = await deps.ledger.boots.register({
    boot_id: engine.boot_id,
    host_id: engine.host_id,
    limits: wanted,
    default_limits: defaults,
    images: engine.images,
    refused_images: engine.refused_images,
    runtimes: engine.facts.runtimes,
    engine_version: engine.facts.engine_version,
    program_version: deps.program_version,
  });
  return checkRegistered(reply);
}

/** Starts every duty but the beat, and lets them be asked for. */
function startDuties(state: BootState, intakes: readonly Intake[], loop: (duty: Duty) => RunningDuty): RunningDuty[] {
  const health = loop(engineHealthDuty(state));
  const sweep = loop(sweepDuty(state));
  const recovery = loop(recoveryDuty(state));
  const heads = loop(waitingHeadsDuty(state));
  const watch = loop(bootWatchDuty(state));
  const old_agents = loop(oldAgentsDuty(state));
  state.pokeEngineHealth = health.poke;
  state.pokeSweep = sweep.poke;
  state.pokeRecovery = recovery.poke;
  state.pokeBootWatch = watch.poke;
  const pool = hasPlaces(state.warm.plan) ? [loop(poolRefillDuty(state))] : [];
  state.pokePool = () => void pool.map(({ poke }) => poke());
  void state.lease.whenMayAct().then((may) => {
    // A new worker is room for whoever waits for it, and may be the one that a dead boot's tasks wait for.
    if (may) for (const duty of [heads, watch, old_agents, ...pool]) duty.poke();
  });
  const others = [
    healingDuty(state),
    queueTimeoutsDuty(state),
    retentionDuty(state),
    hostSlotsDuty(state),
    ownQueueDuty(state),
    selfCheckDuty(state),
    heartbeatsDuty(state),
    consumptionWatchdog(state, intakes),
  ];
  return [health, sweep, recovery, heads, watch, old_agents, ...pool, ...others.map(loop)];
}

function stateOf(deps: BootDeps, engine: Engine, slots: number, logger: Logger): BootState {
  const [lease, gate, tokens] = [createLease(), createGate(slots), createTokenBook()];
  const { ledger, queue, config, metrics, registry, given_up } = deps;
  const warm = openWarmStarts({ config, engine, lease, gate, metrics, logger, given_up });
  const pokes = { pokeBeat() {}, pokeSweep() {}, pokeRecovery() {}, pokeBootWatch() {}, pokeEngineHealth() {} };
  return {
    boot_id: engine.boot_id,
    host_id: engine.host_id,
    ledger,
    queue,
    engine,
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
    fitness: deps.fitness,
    sights: createBootSights(),
    strange: null,
    given_up,
    ...pokes,
    pokePool() {},
  };
}

/** Opens the engine, proves a sandbox on it, registers and starts beating. Throws where the start is refused. */
export async function startBoot(deps: BootDeps): Promise<Boot> {
  const boot_id = drawBootId();
  const logger = deps.logger.child({ boot_id });
  const { engine, checks } = await openHost(deps, boot_id, logger);
  try {
    const { limits } = await register(deps, engine, logger);
    const state = stateOf(deps, engine, limits.slots, logger.child({ host_id: engine.host_id }));
    state.logger.info("boot_registered", { limits, images: engine.images.map(({ image }) => image) });
    if (checks === null) followFitness(state);
    else conclude(state, checks);
    return await runBoot(deps, state);
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** Leaves nothing that others would have to find: what was sent to it, its place in the ledger, its queue. */
async function retireFrom(state: BootState): Promise<void> {
  await sendBack(state);
  await giveBackSlice(state);
  await state.ledger.boots.retire(state.boot_id);
  await state.queue.removeBootQueue(state.boot_id);
}

async function runBoot(deps: BootDeps, state: BootState): Promise<Boot> {
  const { logger, runs, gate, lease, ledger } = state;
  const loop = (duty: Duty): RunningDuty => startDuty(duty, { logger, metrics: deps.registry });
  const beat = loop(beatDuty(state));
  state.pokeBeat = beat.poke;
  const silenceBell = await ledger.boots.onBell(state.boot_id, beat.poke);
  const intakes = [
    await openIntake(state, SHARED_QUEUE, "shared"),
    await openIntake(state, bootQueue(state.boot_id), "own"),
  ];
  const duties = startDuties(state, intakes, loop);
  void lease.whenMayAct().then((may) => {
    if (may) gate.open("starting");
  });

  async function orderAll(order: Order): Promise<void> {
    for (const { orders } of runs.all()) orders.give(order);
    await runs.whenEmpty();
  }

  return {
    state,
    ready: () => gate.isOpen && lease.mayAct() && state.engine_healthy,
    drain: async (grace_ms) => {
      gate.close("draining");
      const poolGone = state.warm.pool.drain();
      await within(ledger.boots.drain(state.boot_id), () => logger.warn("drain_not_told"));
      const over = setTimeout(() => void orderAll({ kind: "shutdown" }), grace_ms);
      await unlessAborted(runs.whenEmpty(), deps.given_up);
      clearTimeout(over);
      await poolGone;
    },
    abandon: async (reason) => {
      gate.close("over");
      lease.revoke();
      const ended = unlessAborted(orderAll({ kind: "abandon", reason }), deps.given_up);
      await Promise.race([Promise.all([ended, state.warm.pool.drain()]), pause(ABANDON_MS)]);
    },
    close: async (retire) => {
      gate.close("over");
      await Promise.all(intakes.map((intake) => intake.close(CONSUMER_CLOSE_MS)));
      await within(Promise.all(duties.map((duty) => duty.stop())), () => logger.warn("duties_not_ended"));
      if (retire && state.tokens.count() === 0) {
        await within(retireFrom(state), () => logger.warn("boot_not_retired"));
      }
      lease.revoke();
      await within(Promise.all([beat.stop(), silenceBell()]), () => logger.warn("beat_not_ended"));
      await state.engine.close();
    },
  };
}
