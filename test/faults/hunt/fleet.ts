/**
 * A small fleet for one schedule: real ledger, queue and workers on one Redis, hosts in memory, and a line of the lab's
 * before each worker. It has prefixes of its own, so that many stand side by side.
 */
import { createLogger } from "@holdfast/chassis";
import { type HoldfastClient, openClient } from "@holdfast/client";
import { type Ledger, openLedger } from "@holdfast/ledger";
import { openTaskQueue, SHARED_QUEUE, type TaskQueue } from "@holdfast/queue";
import { type RunningWorker, readWorkerConfig, startWorker } from "@holdfast/worker";
import { Queue } from "bullmq";
import type { Redis } from "ioredis";
import { type FaultProxy, fail, type Rule, startRedisProxy } from "../lab/proxy.js";
import { scriptNames } from "../lab/script-names.js";
import { createHost, type HostAccess, type HostLimits, type HuntHost } from "./host.js";

export type Health = "up" | "stalled" | "ending" | "gone";

export interface HuntWorker {
  readonly host: HuntHost;
  readonly line: FaultProxy;
  readonly access: HostAccess;
  readonly running: RunningWorker;
  health: Health;
}

export interface HuntFleet {
  readonly prefix: string;
  readonly queue_prefix: string;
  readonly hosts: readonly HuntHost[];
  readonly workers: readonly HuntWorker[];
  readonly client: HoldfastClient;
  readonly ledger: Ledger;
  readonly queue: TaskQueue;
  /** Bare BullMQ on the shared queue, as a plain producer has it. */
  readonly plain: Queue;
  readonly redis: Redis;
  /** What the workers logged last. */
  readonly log: string[];
  /** The duty was out of order from beginning to end. */
  wasPrompt(): boolean;
  start(host: HuntHost): Promise<HuntWorker>;
  /** As SIGTERM does it. */
  stop(worker: HuntWorker): Promise<void>;
  /** As SIGKILL does it: whatever was not sent yet never is. */
  crash(worker: HuntWorker): Promise<void>;
  /** Ends what is still up as a crash does it, and removes every key. */
  close(): Promise<void>;
}

export interface HuntFleetOptions {
  readonly redis_port: number;
  readonly prefix: string;
  readonly hosts: readonly HostLimits[];
  /** The duty that would find a lost wake-up within a second is out of order; its first pass is let through. */
  readonly without_heads_duty: boolean;
  /** Told of each line that is laid before a worker. */
  onLine(line: FaultProxy): void;
}

const LOG_LINES_MAX = 300;

/** What a worker may warn of though nothing was lost. */
const USUAL = new Set([
  ...["redis_may_lose_its_tail", "host_drained", "host_undrained"],
  ...["task_redelivered", "task_requeued", "tasks_rerouted"],
]);

/** The duty that is out of order fails, of course. */
function tellsOfLoss(line: string): boolean {
  const { event, duty } = JSON.parse(line) as { readonly event: string; readonly duty?: string };
  return !USUAL.has(event) && duty !== "waiting_heads";
}

function quiet(log: string[], onLoss: () => void) {
  const write = (line: string): void => {
    log.push(line);
    if (log.length > LOG_LINES_MAX) log.shift();
    if (tellsOfLoss(line)) onLoss();
  };
  return createLogger({ name: "worker", level: "warn", destination: { write } });
}

function environment(options: HuntFleetOptions, host: HuntHost, port: number): Record<string, string> {
  const { slots, cpu, memory_mb } = host.limits;
  return {
    REDIS_URL: `redis://127.0.0.1:${port}`,
    HOLDFAST_PREFIX: options.prefix,
    HOLDFAST_QUEUE_PREFIX: `${options.prefix}q`,
    HOLDFAST_HEALTH_PORT: "0",
    HOLDFAST_SLOTS: `${slots}`,
    HOLDFAST_SELF_CHECK_SECONDS: "0",
    HOLDFAST_CPU: `${cpu}`,
    HOLDFAST_MEMORY_MB: `${memory_mb}`,
    HOLDFAST_POOL: "0",
    HOLDFAST_DRAIN_GRACE_SECONDS: "0.2",
    HOLDFAST_LOG_LEVEL: "warn",
  };
}

async function removeKeys(redis: Redis, patterns: readonly string[]): Promise<void> {
  for (const pattern of patterns) {
    for await (const keys of redis.scanStream({ match: pattern, count: 1_000 }) as AsyncIterable<string[]>) {
      if (keys.length > 0) await redis.unlink(...keys);
    }
  }
}

export async function openHuntFleet(options: HuntFleetOptions): Promise<HuntFleet> {
  const { redis_port, prefix } = options;
  const url = `redis://127.0.0.1:${redis_port}`;
  const queue_prefix = `${prefix}q`;
  const log: string[] = [];
  let prompt = options.without_heads_duty;
  const logger = quiet(log, lift);
  const workers: HuntWorker[] = [];
  const out_of_order: Rule[] = [];
  const client = await openClient({ redis_url: url, prefix, queue_prefix, fail_fast_ms: 20_000 });
  const ledger = await openLedger({ url, prefix, role: "hunt" });
  const queue = openTaskQueue({ ledger, prefix: queue_prefix, fail_fast_ms: 20_000 });
  const redis = ledger.connection("hunt");
  const plain = new Queue(SHARED_QUEUE, { connection: ledger.connection("plain"), prefix: queue_prefix });
  plain.on("error", () => undefined);

  /** A machine so slow that calls run out of time loses wake-ups by itself: it has the duty back. */
  function lift(): void {
    prompt = false;
    for (const rule of out_of_order) rule.remove();
  }

  async function start(host: HuntHost): Promise<HuntWorker> {
    const line = await startRedisProxy({ port: redis_port, names: scriptNames() });
    if (prompt) out_of_order.push(line.on({ script: "task-heads", nth: 2, every: true }, fail("ERR out of order")));
    options.onLine(line);
    const access = host.access();
    const config = readWorkerConfig(environment(options, host, line.port));
    const running = await startWorker(config, { logger, openEngine: access.open }).catch(async (error: unknown) => {
      await line.close();
      throw error;
    });
    const worker: HuntWorker = { host, line, access, running, health: "up" };
    workers.push(worker);
    return worker;
  }

  async function stop(worker: HuntWorker): Promise<void> {
    worker.health = "ending";
    await worker.running.stop();
    worker.health = "gone";
    await worker.line.close();
  }

  async function crash(worker: HuntWorker): Promise<void> {
    worker.health = "gone";
    worker.access.sever();
    await worker.line.set({ kind: "cut" });
    // A process that is gone has no more to say; nobody waits for what is left of it here.
    void worker.running.stop();
  }

  return {
    ...{ prefix, queue_prefix, workers, client, ledger, queue, plain, redis, log, start, stop, crash },
    hosts: options.hosts.map(createHost),
    wasPrompt: () => prompt,
    close: async () => {
      await Promise.all(workers.filter(({ health }) => health !== "gone").map(crash));
      await plain.close();
      await queue.close();
      await client.close();
      await removeKeys(redis, [`{${prefix}}:*`, `${queue_prefix}:*`]);
      await ledger.close();
    },
  };
}
