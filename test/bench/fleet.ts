/** What the benches run on: a private Redis and a worker as processes of their own, as an operator would start them. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type HoldfastClient, openClient } from "@holdfast/client";
import Docker from "dockerode";
import { sumOfSamples } from "../support/fleet.js";
import { freePort } from "../support/free-port.js";
import { startPrivateRedis } from "../support/private-redis.js";
import { waitFor } from "../support/wait-for.js";

const ROOT = join(import.meta.dirname, "..", "..");
const BOUND_MS = 60_000;

export interface BenchFleet {
  readonly client: HoldfastClient;
  readonly docker: Docker;
  readonly image: string;
  /** Resolves when no slot of the host is reserved. */
  slotsFree(): Promise<void>;
  /** Inspects the one sandbox that runs now. */
  inspectSandbox(): Promise<Docker.ContainerInspectInfo>;
  /** Host pids of a container's processes, once there are so many, the oldest first. */
  pidsOf(container_id: string, at_least: number): Promise<number[]>;
  /** Resident memory of the worker process in MiB. */
  workerMemoryMb(): number;
  /** Time that the worker process has had of any core, in milliseconds. */
  workerCpuMs(): number;
  /** A sample of the worker as it is now. */
  metric(sample: string): Promise<number>;
  /** Resolves when so many sandboxes wait in the worker's pool, and it makes no more. */
  poolReady(count: number): Promise<void>;
  stop(): Promise<void>;
}

const until = (condition: () => Promise<boolean>, what: string): Promise<boolean> =>
  waitFor(condition, { bound_ms: BOUND_MS, what, look_ms: 2 });

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  await exit;
}

/** The bench's fleet ends with it, and so do its named volumes. */
async function removeVolumes(engine: Docker, fleet_id: string): Promise<void> {
  const filters = JSON.stringify({ label: [`holdfast.fleet=${fleet_id}`] });
  const { Volumes } = await engine.listVolumes({ filters });
  for (const { Name } of Volumes) await engine.getVolume(Name).remove();
}

/** The engine that the benches measure on. */
export function socketPath(): string {
  return (process.env["DOCKER_HOST"] ?? "unix:///var/run/docker.sock").replace(/^unix:\/\//, "");
}

/** A worker as an operator starts it: the built program, configured by its environment. */
async function startWorkerProgram(
  redis_url: string,
  prefix: string,
  port: number,
  env: Readonly<Record<string, string>>,
): Promise<ChildProcess> {
  const worker = spawn(process.execPath, [join(ROOT, "apps/worker/dist/main.js")], {
    stdio: ["ignore", "ignore", "inherit"],
    env: {
      ...process.env,
      REDIS_URL: redis_url,
      HOLDFAST_FLEET: prefix,
      HOLDFAST_PREFIX: prefix,
      HOLDFAST_QUEUE_PREFIX: `${prefix}_q`,
      HOLDFAST_HEALTH_PORT: `${port}`,
      HOLDFAST_POOL: "0",
      HOLDFAST_LOG_LEVEL: "error",
      ...env,
    },
  });
  await until(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok, "the worker is ready");
  return worker;
}

async function openEngine(): Promise<Docker> {
  const { ApiVersion } = await new Docker({ socketPath: socketPath() }).version();
  return new Docker({ socketPath: socketPath(), version: `v${ApiVersion}` });
}

function looksAt(engine: Docker, fleet_id: string): Pick<BenchFleet, "inspectSandbox" | "pidsOf"> {
  const label = ["holdfast.purpose=task", `holdfast.fleet=${fleet_id}`];
  const inspect = async () => {
    const [running] = await engine.listContainers({ filters: { label } });
    return running ? engine.getContainer(running.Id).inspect() : null;
  };
  const pidsOf = async (id: string, at_least: number) => {
    const top: { Processes: string[][] } = await engine.getContainer(id).top({ ps_args: "-eo pid" });
    const pids = top.Processes.map(([pid]) => Number(pid)).sort((left, right) => left - right);
    return pids.length >= at_least ? pids : null;
  };
  const bound = { bound_ms: BOUND_MS, look_ms: 2 };
  return {
    inspectSandbox: () => waitFor(inspect, { ...bound, what: "the sandbox runs" }),
    pidsOf: (id, at_least) => waitFor(() => pidsOf(id, at_least), { ...bound, what: "its processes run" }),
  };
}

/** Milliseconds of one tick in /proc. */
const TICK_MS = 10;

function looksAtWorker(worker: ChildProcess, port: number) {
  const metric = async (sample: string): Promise<number> =>
    sumOfSamples(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text(), sample);
  const sandboxes = (state: string): Promise<number> => metric(`holdfast_pool_sandboxes{state="${state}"}`);
  return {
    metric,
    poolReady: async (count: number): Promise<void> => {
      const isFull = async () => (await sandboxes("ready")) === count && (await sandboxes("filling")) === 0;
      await waitFor(isFull, { bound_ms: 5 * BOUND_MS, what: `${count} sandboxes wait`, look_ms: 20 });
    },
    workerMemoryMb: (): number => {
      const status = readFileSync(`/proc/${worker.pid}/status`, "utf8");
      return Number(status.match(/VmRSS:\s+(\d+)/)?.[1]) / 1024;
    },
    workerCpuMs: (): number => {
      const fields = readFileSync(`/proc/${worker.pid}/stat`, "utf8")
        .replace(/^.*\) /s, "")
        .split(" ");
      return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
    },
  };
}

/** `env` overrides what the worker is started with; without it there is no pool. */
export async function startBenchFleet(env: Readonly<Record<string, string>> = {}): Promise<BenchFleet> {
  const redis = await startPrivateRedis();
  const prefix = `bench_${randomBytes(4).toString("hex")}`;
  const port = await freePort();
  const worker = await startWorkerProgram(redis.url, prefix, port, env);
  const client = await openClient({ redis_url: redis.url, prefix, queue_prefix: `${prefix}_q` });
  const docker = await openEngine();
  const isFree = async () => (await client.hosts()).every((host) => host.reserved.slots === 0);
  return {
    client,
    docker,
    image: "holdfast/shell:1",
    ...looksAt(docker, prefix),
    slotsFree: async () => {
      await until(isFree, "all slots are free");
    },
    ...looksAtWorker(worker, port),
    stop: async () => {
      await client.close();
      await ended(worker);
      await removeVolumes(docker, prefix);
      await redis.stop();
    },
  };
}
