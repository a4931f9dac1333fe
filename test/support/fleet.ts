/** A whole fleet in the test's own process: one worker on the world's engine, one client, its own ledger prefix. */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createLogger, createMetrics, type Metrics } from "@holdfast/chassis";
import { type HoldfastClient, openClient, type Submitted } from "@holdfast/client";
import type { HostView, Outcome, StreamItem, StreamName, TaskEvent, TaskRequestInput } from "@holdfast/contract";
import { census, openLedger } from "@holdfast/ledger";
import { type RunningWorker, readWorkerConfig, startWorker } from "@holdfast/worker";
import { expect } from "vitest";
import { engineCensus } from "./census.js";
import { byLabels, engineAsk } from "./engine-call.js";
import { type ExtraImage, loadExtraImages, removeExtraImages } from "./extra-images.js";
import { scratchFolder } from "./scratch.js";
import { waitFor } from "./wait-for.js";

export const PYTHON_IMAGE = "holdfast/python:3.11-1";
export const SHELL_IMAGE = "holdfast/shell:1";
const OUR_IMAGES = [PYTHON_IMAGE, SHELL_IMAGE, "holdfast/empty:1"];

/** As a request, but the image may be left out: the Python image is meant then. */
export type TestRequest = Omit<TaskRequestInput, "image"> & { readonly image?: string };

export interface Watched {
  readonly outcome: Outcome;
  readonly live: Record<StreamName, Buffer>;
  readonly events: readonly TaskEvent[];
}

export interface FleetOptions {
  readonly slots?: number;
  readonly extraImages?: readonly ExtraImage[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface TestFleet {
  readonly client: HoldfastClient;
  readonly worker: RunningWorker;
  readonly env: Readonly<Record<string, string>>;
  readonly socket: string;
  /** Submits and waits for the outcome, with output text. */
  run(request: TestRequest): Promise<Outcome>;
  runAndWatch(request: TestRequest): Promise<Watched>;
  /** Submits and waits until user code runs. */
  start(request: TestRequest): Promise<Submitted>;
  /** Host pids of every process in the sandbox of a running task. */
  hostPidsOf(task: Submitted, at_least: number): Promise<number[]>;
  /** Sum of the worker's samples whose name and labels begin so. */
  metric(sample: string): Promise<number>;
  /** Looks at which the boot's lease showed that a beat had not come. */
  missedBeats(): number;
  engineCounts(): Promise<Record<string, number>>;
  expectCapacityFree(bound_ms: number): Promise<void>;
  /** Q1: stops the worker and looks at engine and ledger. */
  stopAndExpectNothingLeft(): Promise<void>;
}

function required(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: the world did not start`);
  return value;
}

function imagesFile(extra: readonly ExtraImage[]): string {
  const names = [...OUR_IMAGES, ...extra.map((name) => `holdfast-test/${name}:1`)];
  const file = join(scratchFolder("images"), "allow.json");
  writeFileSync(file, JSON.stringify({ images: names.map((image) => ({ image, digest: null })) }));
  return file;
}

/** A lease has 8 s and is renewed every 2 s: with less than 5.5 s left a beat was missed. */
const LEASE_LEFT_MS_MIN = 5_500;

function watchLease(client: HoldfastClient) {
  let missed = 0;
  const look = async (): Promise<void> => {
    const hosts = await client.hosts();
    for (const boot of hosts.flatMap((host) => host.boots)) {
      if (boot.state === "LIVE" && boot.lease_left_ms < LEASE_LEFT_MS_MIN) missed += 1;
    }
  };
  const timer = setInterval(() => void look().catch(() => undefined), 250);
  return { missed: () => missed, stop: () => clearInterval(timer) };
}

async function watchTask(client: HoldfastClient, task: Submitted): Promise<Omit<Watched, "outcome">> {
  const chunks: Record<StreamName, Buffer[]> = { stdout: [], stderr: [] };
  const events: TaskEvent[] = [];
  for await (const item of client.events(task) as AsyncIterable<StreamItem>) {
    if (!("sequence" in item)) continue;
    expect(item.sequence, "V1: events follow each other without a hole").toBe(events.length + 1);
    events.push(item);
    if (item.kind === "task_log") chunks[item.stream].push(Buffer.from(item.data, item.encoding));
  }
  return { events, live: { stdout: Buffer.concat(chunks.stdout), stderr: Buffer.concat(chunks.stderr) } };
}

/** Environment of a worker of this test's own fleet on the world's Redis and engine. */
export function fleetEnv(options: FleetOptions = {}): Record<string, string> {
  const prefix = `t_${randomBytes(6).toString("hex")}`;
  return {
    REDIS_URL: required("HOLDFAST_TEST_REDIS_URL"),
    DOCKER_HOST: `unix://${required("HOLDFAST_TEST_ENGINE_SOCKET")}`,
    HOLDFAST_PREFIX: prefix,
    HOLDFAST_QUEUE_PREFIX: `${prefix}_q`,
    HOLDFAST_IMAGES: imagesFile(options.extraImages ?? []),
    HOLDFAST_HEALTH_PORT: "0",
    HOLDFAST_SLOTS: String(options.slots ?? 4),
    HOLDFAST_CPU: "16",
    // Tests count containers; those of the pool ask for one.
    HOLDFAST_POOL: "0",
    // A second at each start; tests of it ask for it.
    HOLDFAST_SELF_CHECK_SECONDS: "0",
    HOLDFAST_LOG_LEVEL: "warn",
    ...options.env,
  };
}

export async function startFleet(options: FleetOptions = {}): Promise<TestFleet> {
  const socket = required("HOLDFAST_TEST_ENGINE_SOCKET");
  await loadExtraImages(socket, options.extraImages ?? []);
  const env = fleetEnv(options);
  const config = readWorkerConfig(env);
  const metrics = createMetrics();
  const worker = await startWorker(config, {
    metrics,
    logger: createLogger({ name: "worker", level: config.HOLDFAST_LOG_LEVEL }),
  });
  const client = await openClient({
    redis_url: config.REDIS_URL,
    prefix: config.HOLDFAST_PREFIX,
    queue_prefix: config.HOLDFAST_QUEUE_PREFIX,
  });
  return fleetOver({
    client,
    worker,
    metrics,
    env,
    socket,
    extra: options.extraImages ?? [],
    lease: watchLease(client),
  });
}

interface FleetParts {
  readonly client: HoldfastClient;
  readonly worker: RunningWorker;
  readonly metrics: Metrics;
  readonly env: Record<string, string>;
  readonly socket: string;
  readonly extra: readonly ExtraImage[];
  readonly lease: ReturnType<typeof watchLease>;
}

const withImage = (request: TestRequest): TaskRequestInput => ({ ...request, image: request.image ?? PYTHON_IMAGE });

function fleetOver(parts: FleetParts): TestFleet {
  const { client, worker, env, socket, lease } = parts;
  const fleetLabel = `holdfast.fleet=${worker.fleet_id}`;

  async function running(task: Submitted): Promise<void> {
    const status = async () => (await client.status(task)).events >= 2;
    await waitFor(status, { bound_ms: 20_000, what: `${task.task_id} runs` });
  }

  async function sandboxOf(task: Submitted): Promise<string> {
    const held = (await client.sandboxes()).find((sandbox) => sandbox.task_id === task.task_id);
    const label = byLabels(fleetLabel, `holdfast.sandbox=${held?.sandbox_id}`);
    const [row] = (await engineAsk(socket, "GET", `/containers/json?${label}`)) as { Id: string }[];
    if (row === undefined) throw new Error(`${task.task_id} has no sandbox in the engine`);
    return row.Id;
  }

  async function capacityFree(bound_ms: number): Promise<void> {
    const isFree = ({ reserved, pool_reserved }: HostView): boolean =>
      reserved.slots + reserved.cpu_milli === 0 &&
      reserved.memory_mb === pool_reserved.memory_mb &&
      reserved.pids === pool_reserved.pids;
    const free = async () => (await client.hosts()).every(isFree);
    await waitFor(free, { bound_ms, what: "all capacity but the pool's is free" });
  }

  return {
    client,
    worker,
    env,
    socket,
    run: async (request) => client.outcome(await client.submit(withImage(request))),
    runAndWatch: async (request) => {
      const task = await client.submit(withImage(request));
      const seen = await watchTask(client, task);
      return { ...seen, outcome: await client.outcome(task) };
    },
    start: async (request) => {
      const task = await client.submit(withImage(request));
      await running(task);
      return task;
    },
    hostPidsOf: async (task, at_least) => {
      const id = await sandboxOf(task);
      const all = async () => {
        const top = (await engineAsk(socket, "GET", `/containers/${id}/top?ps_args=-eo%20pid`)) as {
          Processes: string[][];
        };
        const pids = top.Processes.map(([pid]) => Number(pid));
        return pids.length >= at_least ? pids : null;
      };
      return waitFor(all, { bound_ms: 10_000, what: `${at_least} processes in the sandbox` });
    },
    metric: async (sample) => sumOfSamples(await parts.metrics.text(), sample),
    missedBeats: lease.missed,
    engineCounts: () => engineCounts(socket, worker.fleet_id),
    expectCapacityFree: capacityFree,
    stopAndExpectNothingLeft: async () => {
      lease.stop();
      await capacityFree(30_000);
      await worker.stop();
      await client.close();
      await expectNothingLeft(socket, worker.fleet_id, env);
      await removeExtraImages(socket, parts.extra);
    },
  };
}

/** Of the text of a scrape. */
export function sumOfSamples(text: string, sample: string): number {
  const rows = text.split("\n").filter((row) => row.startsWith(sample));
  return rows.reduce((sum, row) => sum + Number(row.split(" ").at(-1)), 0);
}

/** What the fleet has in the engine, and anonymous volumes and untagged images, which bear nobody's label. */
async function engineCounts(socket: string, fleet_id: string): Promise<Record<string, number>> {
  const ours = await engineCensus(socket, fleet_id);
  const volumes = (await engineAsk(socket, "GET", "/volumes")) as { Volumes: { Name: string }[] | null };
  const untagged = `/images/json?filters=${encodeURIComponent('{"dangling":["true"]}')}`;
  return {
    containers: ours.containers.length,
    volumes: ours.volumes.length,
    networks: ours.networks.length,
    anonymous_volumes: (volumes.Volumes ?? []).filter(({ Name }) => /^[0-9a-f]{64}$/.test(Name)).length,
    untagged_images: ((await engineAsk(socket, "GET", untagged)) as unknown[]).length,
  };
}

/** Q1 in engine and ledger; the fleet's named volumes are then removed, since a test's fleet ends with its file. */
export async function expectNothingLeft(socket: string, fleet_id: string, env: Record<string, string>): Promise<void> {
  const left = await engineCensus(socket, fleet_id);
  expect(left.containers, "Q1: no container of the fleet is left").toEqual([]);
  expect(left.networks, "Q1: no network of the fleet is left").toEqual([]);
  for (const volume of left.volumes) {
    expect(volume, "Q1: only the named fleet volumes are left").toMatch(/^holdfast-(host|agent)-/);
    await engineAsk(socket, "DELETE", `/volumes/${volume}`);
  }
  const ledger = await openLedger({ url: env["REDIS_URL"] ?? "", prefix: env["HOLDFAST_PREFIX"] ?? "", role: "test" });
  try {
    const found = await census(ledger);
    expect(found, "Q1 and C1: the ledger holds retained records only, and its sums equal a recount").toMatchObject({
      leftovers: [],
      reservations: [],
      waiters: [],
      unfinished: [],
      miscounted: [],
      overcommitted: [],
    });
  } finally {
    await ledger.close();
  }
}
