/** One process for a whole fleet of one host: its Redis where none is given, a worker, a gateway. */
import { rmSync } from "node:fs";
import { createMetrics, type Logger, type Metrics } from "@holdfast/chassis";
import { readGatewayConfig, startGateway } from "@holdfast/gateway";
import { openLedger } from "@holdfast/ledger";
import { readWorkerConfig, StartRefused, startWorker, type WorkerConfig } from "@holdfast/worker";
import { CommandFault } from "../command-fault.js";
import type { Environment } from "../config.js";
import { type DataFolder, readPrivateFile, writePrivateFile } from "../data-folder/data-folder.js";
import { openPrivateRedis } from "../data-folder/private-redis.js";
import { takeUpLock } from "../data-folder/up-lock.js";
import { checkEngine } from "./engine-check.js";
import { hostWords } from "./host-words.js";
import { keepRedis } from "./redis-keeper.js";
import { createUndo, type Undo } from "./undo.js";

export interface UpRequest {
  readonly folder: DataFolder;
  /** The given Redis; without one a private one is kept. */
  readonly redis_url: string | undefined;
  /** What worker and gateway read their settings from. */
  readonly settings: Environment;
  readonly logger: Logger;
}

export interface RunningUp {
  /** The one line that tells that all of it is ready. */
  readonly ready_line: string;
  stop(): Promise<void>;
}

/** Without Redis there is nothing to mark. */
const CLOSE_WITHIN_MS = 2_000;

interface Parts extends UpRequest {
  readonly metrics: Metrics;
  readonly undo: Undo;
}

function lock({ folder, undo }: Parts): void {
  const taken = takeUpLock(folder.path);
  if (taken.kind === "held") {
    const remedy = "end it with `holdfast down`, or name another folder with --data";
    throw new CommandFault("platform", `an up runs on ${folder.path} already (pid ${taken.pid}): ${remedy}`);
  }
  undo.add(taken.release);
}

async function provideRedis({ folder, redis_url, settings, logger, metrics, undo }: Parts): Promise<string> {
  if (redis_url !== undefined) return redis_url;
  const path = settings["PATH"] ?? "";
  const redis = await openPrivateRedis(folder, { path, may_move: true });
  logger.info("private_redis_ready", { pid: redis.pid, taken_over: redis.taken_over });
  undo.add(keepRedis(folder, redis, path, { logger, metrics }).stop);
  return redis.url;
}

/** The settings that hold inside an `up`, the caller's own ones first. */
function settingsOf({ folder, settings }: Parts, redis_url: string): Environment {
  const fleet = readPrivateFile(folder.fleet_file);
  return {
    ...(fleet === null ? {} : { HOLDFAST_FLEET: fleet }),
    // The gateway shows the worker's metrics too, and several folders may have an up each.
    HOLDFAST_HEALTH_PORT: "0",
    ...settings,
    REDIS_URL: redis_url,
  };
}

/** Marks the ledger as closed cleanly where no boot is left, so that the next `up` may grant at once. */
async function closeLedger({ logger }: Parts, config: WorkerConfig): Promise<void> {
  const { REDIS_URL: url, HOLDFAST_PREFIX: prefix } = config;
  try {
    const ledger = await openLedger({ url, prefix, role: "up", fail_fast_ms: CLOSE_WITHIN_MS });
    logger.info("ledger_closed", { cleanly: await ledger.closeCleanly() });
    await ledger.close();
  } catch (error) {
    logger.warn("ledger_not_closed", { error });
  }
}

async function startParts(parts: Parts): Promise<string> {
  const { folder, logger, metrics, undo } = parts;
  lock(parts);
  await checkEngine(parts.settings);
  const redis_url = await provideRedis(parts);
  writePrivateFile(folder.url_file, `${redis_url}\n`);
  undo.add(() => rmSync(folder.url_file, { force: true }));

  const settings = settingsOf(parts, redis_url);
  undo.add(() => closeLedger(parts, readWorkerConfig(settings)));
  const gatewayConfig = readGatewayConfig(settings);
  const worker = await startWorker(readWorkerConfig(settings), { logger: logger.child({ part: "worker" }), metrics });
  undo.add(worker.stop);
  writePrivateFile(folder.fleet_file, `${worker.fleet_id}\n`);

  const gateway = await startGateway(gatewayConfig, { logger: logger.child({ part: "gateway" }), metrics });
  undo.add(gateway.stop);
  const address = `http://${gatewayConfig.HOLDFAST_GATEWAY_HOST}:${gateway.port}`;
  return `holdfast ready: gateway ${address}, board ${address}/queues, ${hostWords(worker)}, data ${folder.path}`;
}

function advise(error: unknown): unknown {
  if (!(error instanceof StartRefused) || !/^no image /.test(error.message)) return error;
  return new CommandFault("platform", `${error.message}: run ./scripts/setup to provide images`);
}

/** Starts all of it, or nothing: what had started is ended again where a later part fails. */
export async function bringUp(request: UpRequest): Promise<RunningUp> {
  const undo = createUndo();
  try {
    const ready_line = await startParts({ ...request, metrics: createMetrics(), undo });
    return { ready_line, stop: undo.run };
  } catch (error) {
    request.logger.error("up_failed", { error });
    await undo.run();
    throw advise(error);
  }
}
