/** What the benches run on: a private Redis and a worker as processes of their own, as an operator would start them. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type HoldfastClient, openClient } from "@holdfast/client";
import Docker from "dockerode";
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
  stop(): Promise<void>;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() =>
        address && typeof address === "object" ? resolve(address.port) : reject(new Error("no port")),
      );
    });
  });
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

export async function startBenchFleet(): Promise<BenchFleet> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
  const [redisPort, healthPort] = [await freePort(), await freePort()];
  const redis = spawn(
    "redis-server",
    [
      "--port",
      `${redisPort}`,
      "--save",
      "",
      "--appendonly",
      "yes",
      "--maxmemory-policy",
      "noeviction",
      "--dir",
      folder,
    ],
    { stdio: "ignore" },
  );
  const redis_url = `redis://127.0.0.1:${redisPort}`;
  const prefix = `bench_${randomBytes(4).toString("hex")}`;
  const worker = spawn(process.execPath, [join(ROOT, "apps/worker/dist/main.js")], {
    stdio: ["ignore", "ignore", "inherit"],
    env: {
      ...process.env,
      REDIS_URL: redis_url,
      HOLDFAST_FLEET: prefix,
      HOLDFAST_PREFIX: prefix,
      HOLDFAST_QUEUE_PREFIX: `${prefix}_q`,
      HOLDFAST_HEALTH_PORT: `${healthPort}`,
      HOLDFAST_LOG_LEVEL: "error",
    },
  });
  await until(async () => (await fetch(`http://127.0.0.1:${healthPort}/readyz`)).ok, "the worker is ready");
  const client = await openClient({ redis_url, prefix, queue_prefix: `${prefix}_q` });
  const docker = new Docker({ socketPath: socketPath() });
  const version = await docker.version();
  const engine = new Docker({ socketPath: socketPath(), version: `v${version.ApiVersion}` });

  return {
    client,
    docker: engine,
    image: "holdfast/shell:1",
    slotsFree: async () => {
      await until(async () => (await client.hosts()).every((host) => host.reserved.slots === 0), "all slots are free");
    },
    inspectSandbox: () =>
      waitFor(
        async () => {
          const [running] = await engine.listContainers({
            filters: { label: ["holdfast.purpose=task", `holdfast.fleet=${prefix}`] },
          });
          return running ? engine.getContainer(running.Id).inspect() : null;
        },
        { bound_ms: BOUND_MS, what: "the sandbox runs" },
      ),
    pidsOf: (id, at_least) =>
      waitFor(
        async () => {
          const top: { Processes: string[][] } = await engine.getContainer(id).top({ ps_args: "-eo pid" });
          const pids = top.Processes.map(([pid]) => Number(pid)).sort((left, right) => left - right);
          return pids.length >= at_least ? pids : null;
        },
        { bound_ms: BOUND_MS, what: "its processes run", look_ms: 2 },
      ),
    workerMemoryMb: () => {
      const status = readFileSync(`/proc/${worker.pid}/status`, "utf8");
      return Number(status.match(/VmRSS:\s+(\d+)/)?.[1]) / 1024;
    },
    stop: async () => {
      await client.close();
      await ended(worker);
      await removeVolumes(engine, prefix);
      await ended(redis);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
