/** A whole fleet of child processes with every line between them in the lab's hands, and its end: heal, rest, judge. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { census, openLedger } from "@holdfast/ledger";
import { CHECK_TIMES } from "./checker.js";
import { type LabEngine, type LabEngineOptions, startLabEngine } from "./engine.js";
import { type History, openHistory } from "./history.js";
import { imageArchive, SHELL_IMAGE } from "./image-archive.js";
import { lookAtEngine } from "./look-at-engine.js";
import { lookAtLedger } from "./look-at-ledger.js";
import { type FaultProxy, startRedisProxy } from "./proxy.js";
import { openRecordedClient, type RecordedClient } from "./recorded-client.js";
import { type LabRedis, type LabRedisOptions, startLabRedis } from "./redis.js";
import { bringToRest, type RestOptions } from "./rest.js";
import { scriptNames } from "./script-names.js";
import { sightScripts } from "./sight-scripts.js";
import { createLabWorker, type LabWorker } from "./worker.js";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const LOOK_MS = 1_000;
export const PREFIX = "lab";
export const QUEUE_PREFIX = "labq";
export const WORKSPACES = ["default", "other"] as const;

export interface LabFleetOptions {
  readonly engines?: number;
  /** Of each engine. */
  readonly engine?: LabEngineOptions;
  /** Worker n serves engine n modulo their count. */
  readonly workers?: number;
  readonly slots?: number;
  readonly cpu?: number;
  readonly redis?: LabRedisOptions;
  readonly env?: Readonly<Record<string, string>>;
}

export interface LabFleet {
  readonly history: History;
  readonly redis: LabRedis;
  readonly engines: readonly LabEngine[];
  readonly workers: readonly LabWorker[];
  /** A producer with a proxy of its own before Redis. */
  readonly producer: RecordedClient;
  readonly producerLine: FaultProxy;
  worker(n: number): LabWorker;
  engine(n: number): LabEngine;
  /** One more worker, not yet started, for the engine. */
  addWorker(engine: number): Promise<LabWorker>;
  /** A client straight to Redis. */
  openClient(name: string): Promise<RecordedClient>;
  /** Looks at ledger and engines now. */
  look(): Promise<void>;
  /** Stops the faults, waits for rest within a bound, judges the history. Throws what it finds. */
  finish(options?: Partial<RestOptions>): Promise<void>;
  close(): Promise<void>;
}

let built = false;

/** Programs run as they are shipped: from what the compiler wrote. */
function buildOnce(): void {
  if (!built) execFileSync("npx", ["tsc", "-b"], { cwd: ROOT, stdio: "pipe" });
  built = true;
}

function environment(folder: string, options: LabFleetOptions): Record<string, string> {
  const images = join(folder, "allow.json");
  writeFileSync(images, JSON.stringify({ images: [{ image: SHELL_IMAGE, digest: null }] }));
  return {
    HOLDFAST_PREFIX: PREFIX,
    HOLDFAST_QUEUE_PREFIX: QUEUE_PREFIX,
    HOLDFAST_IMAGES: images,
    HOLDFAST_HEALTH_PORT: "0",
    HOLDFAST_SLOTS: `${options.slots ?? 4}`,
    HOLDFAST_SELF_CHECK_SECONDS: "0",
    HOLDFAST_CPU: `${options.cpu ?? 16}`,
    // Tests count containers; those of the pool ask for one.
    HOLDFAST_POOL: "0",
    HOLDFAST_LOG_LEVEL: "info",
    ...options.env,
  };
}

async function startEngines(count: number, options: LabEngineOptions | undefined): Promise<LabEngine[]> {
  const archive = await imageArchive();
  const engines = await Promise.all(Array.from({ length: count }, () => startLabEngine(options)));
  await Promise.all(engines.map((engine) => engine.load(archive)));
  return engines;
}

interface Looks {
  look(): Promise<void>;
  stop(): void;
}

/** Looks at ledger and engines once a second, and whenever it is told to. */
function startLooking(redis: LabRedis, engines: readonly LabEngine[], history: History): Looks {
  const ledger = lookAtLedger(redis.url, PREFIX, WORKSPACES, history);
  const sockets = engines.map((engine, n) => lookAtEngine(engine.socket, `e${n + 1}`, history));
  const look = async () => {
    await Promise.all([ledger.look(), ...sockets.map((one) => one.look())]);
  };
  const timer = setInterval(() => void look(), LOOK_MS);
  return {
    look,
    stop: () => {
      clearInterval(timer);
      ledger.close();
      for (const one of sockets) one.close();
    },
  };
}

function at<Item>(items: readonly Item[], n: number, what: string): Item {
  const found = items[n];
  if (found === undefined) throw new Error(`there is no ${what} ${n}`);
  return found;
}

export async function startLabFleet(options: LabFleetOptions = {}): Promise<LabFleet> {
  buildOnce();
  const redis = await startLabRedis(options.redis);
  const { folder } = redis;
  const history = openHistory(join(folder, "history.jsonl"));
  const engines = await startEngines(options.engines ?? 1, options.engine);
  const { look, stop } = startLooking(redis, engines, history);
  const workers: LabWorker[] = [];
  const clients: RecordedClient[] = [];
  const env = environment(folder, options);
  const addWorker = async (n: number) => {
    const engine_socket = at(engines, n, "engine").socket;
    const name = `w${workers.length + 1}`;
    workers.push(await createLabWorker({ name, redis_port: redis.port, engine_socket, folder, env, history, look }));
    return at(workers, workers.length - 1, "worker");
  };
  const openClient = async (name: string, port = redis.port) => {
    const url = `redis://127.0.0.1:${port}`;
    clients.push(await openRecordedClient({ name, url, prefix: PREFIX, queue_prefix: QUEUE_PREFIX, history }));
    return at(clients, clients.length - 1, "client");
  };

  const producerLine = await startRedisProxy({ port: redis.port, names: scriptNames() });
  sightScripts(producerLine, "p1", history);
  for (let n = 0; n < (options.workers ?? 1); n += 1) await addWorker(n % engines.length);
  await Promise.all(workers.map((worker) => worker.start()));
  const producer = await openClient("p1", producerLine.port);
  const fleet: LabFleet = {
    ...{ history, redis, engines, workers, producer, producerLine, addWorker, openClient, look },
    engine: (n) => at(engines, n, "engine"),
    worker: (n) => at(workers, n, "worker"),
    finish: (rest = {}) => bringToRest(fleet, { bound_ms: 60_000, times: CHECK_TIMES, ...rest }),
    close: async () => {
      stop();
      await producerLine.heal();
      await Promise.all(clients.map((client) => client.close().catch(() => undefined)));
      await Promise.all(workers.map((worker) => worker.close()));
      await producerLine.close();
      await Promise.all(engines.map((engine) => engine.close()));
      await redis.close();
    },
  };
  return fleet;
}

/** What the ledger itself counts at rest, with leftovers in words. */
export async function ledgerLeftovers(redis: LabRedis): Promise<string[]> {
  const ledger = await openLedger({ url: redis.url, prefix: PREFIX, role: "census" });
  const found = await census(ledger);
  await ledger.close();
  return [
    ...found.leftovers.map((key) => `key ${key}`),
    ...found.reservations.map((token) => `reservation ${token}`),
    ...found.waiters.map((waiter) => `waiter ${waiter}`),
    ...found.unfinished.map((task) => `unfinished ${task}`),
    ...found.miscounted.map((line) => `miscounted ${line}`),
    ...found.overcommitted.map((line) => `overcommitted ${line}`),
  ];
}
