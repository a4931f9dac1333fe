/** One process for a whole fleet of one host: its Redis where none is given, a worker, a gateway. */
import { rmSync } from "node:fs";
import { createMetrics, type Logger } from "@holdfast/chassis";
import { readGatewayConfig, startGateway } from "@holdfast/gateway";
import { readWorkerConfig, startWorker } from "@holdfast/worker";
import { CommandFault } from "../command-fault.js";
import type { CliConfig, Environment } from "../config.js";
import { type DataFolder, readPrivateFile, writePrivateFile } from "../data-folder/data-folder.js";
import { openPrivateRedis } from "../data-folder/private-redis.js";
import { takeUpLock } from "../data-folder/up-lock.js";
import { checkEngine } from "./engine-check.js";
import { keepRedis } from "./redis-keeper.js";

export interface UpRequest {
  readonly folder: DataFolder;
  readonly config: CliConfig;
  readonly env: Environment;
  readonly logger: Logger;
  readonly port?: string;
  readonly slots?: string;
}

export interface RunningUp {
  /** The one line that tells that all of it is ready. */
  readonly ready_line: string;
  stop(): Promise<void>;
}

/** What was started, to be ended in reverse. */
interface Undo {
  add(step: () => Promise<void> | void): void;
  run(): Promise<void>;
}

function createUndo(): Undo {
  const steps: (() => Promise<void> | void)[] = [];
  return {
    add: (step) => void steps.push(step),
    run: async () => {
      for (let step = steps.pop(); step !== undefined; step = steps.pop()) await step();
    },
  };
}

function lock(folder: DataFolder, undo: Undo): void {
  const taken = takeUpLock(folder.path);
  if (taken.kind === "held") {
    const remedy = "end it with `holdfast down`, or name another folder with --data";
    throw new CommandFault("platform", `an up runs on ${folder.path} already (pid ${taken.pid}): ${remedy}`);
  }
  undo.add(taken.release);
}

/** The URL of the given Redis, or of a private one that is kept running. */
async function provideRedis(
  request: UpRequest,
  undo: Undo,
  metrics: ReturnType<typeof createMetrics>,
): Promise<string> {
  const { folder, config, env, logger } = request;
  if (config.REDIS_URL !== undefined) return config.REDIS_URL;
  const path = env["PATH"] ?? "";
  const redis = await openPrivateRedis(folder, { path, may_move: true });
  logger.info("private_redis_ready", { pid: redis.pid, taken_over: redis.taken_over });
  const keeper = keepRedis(folder, redis, path, { logger, metrics });
  undo.add(keeper.stop);
  return redis.url;
}

async function start(request: UpRequest, undo: Undo): Promise<string> {
  const { folder, env, logger } = request;
  const metrics = createMetrics();
  lock(folder, undo);
  await checkEngine(env);
  const url = await provideRedis(request, undo, metrics);
  writePrivateFile(folder.url_file, `${url}\n`);
  undo.add(() => rmSync(folder.url_file, { force: true }));

  const fleet = readPrivateFile(folder.fleet_file);
  const settings = {
    ...(fleet === null ? {} : { HOLDFAST_FLEET: fleet }),
    ...env,
    REDIS_URL: url,
    ...(request.slots === undefined ? {} : { HOLDFAST_SLOTS: request.slots }),
    ...(request.port === undefined ? {} : { HOLDFAST_GATEWAY_PORT: request.port }),
  };
  const gatewayConfig = readGatewayConfig(settings);
  const worker = await startWorker(readWorkerConfig(settings), { logger: logger.child({ part: "worker" }), metrics });
  undo.add(() => worker.stop());
  await worker.ready();

  const gateway = await startGateway(gatewayConfig, { logger: logger.child({ part: "gateway" }), metrics });
  undo.add(() => gateway.stop());
  const address = `http://${gatewayConfig.HOLDFAST_GATEWAY_HOST}:${gateway.port}`;
  return `holdfast ready: gateway ${address}, board ${address}/queues, host ${worker.host_id}, data ${folder.path}`;
}

/** Starts all of it, or nothing: what had started is ended again where a later part fails. */
export async function bringUp(request: UpRequest): Promise<RunningUp> {
  const undo = createUndo();
  try {
    const ready_line = await start(request, undo);
    return { ready_line, stop: () => undo.run() };
  } catch (error) {
    request.logger.error("up_failed", { error });
    await undo.run();
    throw error;
  }
}
