/** A fleet whose workers are processes: they can be killed and stopped as a kernel does it, without a word. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { type HoldfastClient, openClient, type Submitted } from "@holdfast/client";
import { type BootId, drawFleetId, type FleetId, type TaskEvent, type TaskRequestInput } from "@holdfast/contract";
import { openLedger } from "@holdfast/ledger";
import { openTaskQueue, SHARED_QUEUE } from "@holdfast/queue";
import { engineCensus, type FoundContainer } from "../support/census.js";
import { expectNothingLeft, fleetEnv, SHELL_IMAGE, sumOfSamples } from "../support/fleet.js";
import { freePort } from "../support/free-port.js";
import { waitFor } from "../support/wait-for.js";

const WORKER = join(import.meta.dirname, "../../apps/worker/dist/main.js");
const READY_MS = 60_000;

export interface WorkerProcess {
  readonly boot_id: BootId;
  readonly pid: number;
  /** Sends a signal; after SIGKILL it resolves when the process is gone. */
  signal(name: "SIGKILL" | "SIGSTOP" | "SIGCONT" | "SIGTERM"): Promise<void>;
  /** Value of one metric, summed over its labels. */
  metric(name: string): Promise<number>;
  /** What it logged. */
  log(): string;
  /** Resolves with its exit code when it is gone; null where a signal ended it. */
  readonly exited: Promise<number | null>;
}

export interface RecoveryBench {
  readonly fleet_id: FleetId;
  readonly client: HoldfastClient;
  readonly env: Readonly<Record<string, string>>;
  readonly socket: string;
  /** Starts a worker, with settings of its own, and waits until it takes tasks. */
  worker(env?: Readonly<Record<string, string>>): Promise<WorkerProcess>;
  submit(line: string, more?: Partial<TaskRequestInput>): Promise<Submitted>;
  /** Submits and waits until user code runs. */
  start(line: string, more?: Partial<TaskRequestInput>): Promise<Submitted>;
  events(task: Submitted): Promise<TaskEvent[]>;
  containers(): Promise<readonly FoundContainer[]>;
  containersOf(boot_id: BootId): Promise<readonly FoundContainer[]>;
  /** Slots that reservations hold, of all hosts together. */
  reserved(): Promise<number>;
  /** Jobs of the shared queue that are not finished. */
  jobs(): Promise<number>;
  /** Lets every worker end, and insists that nothing is left (Q1). */
  close(): Promise<void>;
}

interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  readonly port: number;
  log(): string;
}

function launch(env: Readonly<Record<string, string>>, port: number): Started {
  const given = { ...process.env, ...env, HOLDFAST_HEALTH_PORT: String(port) };
  const child = spawn(process.execPath, [WORKER], { env: given, stdio: ["ignore", "pipe", "pipe"] });
  const lines: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => lines.push(chunk));
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  return { child, ended, port, log: () => Buffer.concat(lines).toString() };
}

async function liveBoots(client: HoldfastClient): Promise<BootId[]> {
  const boots = (await client.hosts()).flatMap((host) => host.boots);
  return boots.filter(({ state }) => state === "LIVE").map(({ boot_id }) => boot_id);
}

async function readMetric(port: number, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return sumOfSamples(text, `${name} `) + sumOfSamples(text, `${name}{`);
}

function processOf(started: Started, boot_id: BootId): WorkerProcess {
  return {
    boot_id,
    pid: started.child.pid ?? 0,
    log: started.log,
    exited: started.ended,
    metric: (name) => readMetric(started.port, name),
    signal: async (name) => {
      started.child.kill(name);
      if (name === "SIGKILL") await started.ended;
    },
  };
}

async function end({ child, ended }: Started): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGCONT");
  child.kill("SIGTERM");
  await ended;
}

export async function openRecoveryBench(env: Readonly<Record<string, string>> = {}): Promise<RecoveryBench> {
  const fleet_id = drawFleetId();
  const all = fleetEnv({ env: { HOLDFAST_FLEET: fleet_id, HOLDFAST_DRAIN_GRACE_SECONDS: "0", ...env } });
  const { REDIS_URL = "", HOLDFAST_PREFIX = "", HOLDFAST_QUEUE_PREFIX = "", DOCKER_HOST = "" } = all;
  const names = { prefix: HOLDFAST_PREFIX, queue_prefix: HOLDFAST_QUEUE_PREFIX };
  const client = await openClient({ redis_url: REDIS_URL, ...names });
  const socket = DOCKER_HOST.slice("unix://".length);
  const started: Started[] = [];

  async function worker(more: Readonly<Record<string, string>> = {}): Promise<WorkerProcess> {
    const before = new Set(await liveBoots(client));
    const one = launch({ ...all, ...more }, await freePort());
    started.push(one);
    const ready = async () => {
      if (one.child.exitCode !== null) throw new Error(`the worker ended: ${one.log()}`);
      if ((await fetch(`http://127.0.0.1:${one.port}/readyz`)).status !== 200) return null;
      return (await liveBoots(client)).find((boot_id) => !before.has(boot_id));
    };
    const boot_id = await waitFor(ready, { bound_ms: READY_MS, what: "the worker is ready" });
    return processOf(one, boot_id);
  }

  const submit: RecoveryBench["submit"] = (line, more = {}) =>
    client.submit({ image: SHELL_IMAGE, command: ["sh", "-c", line], ...more });
  const reserved = async () => (await client.hosts()).reduce((sum, host) => sum + host.reserved.slots, 0);
  const containers = async () => (await engineCensus(socket, fleet_id)).containers;

  return {
    ...{ fleet_id, client, env: all, socket, worker, submit, reserved, containers },
    jobs: async () => {
      const ledger = await openLedger({ url: REDIS_URL, prefix: HOLDFAST_PREFIX, role: "test" });
      const queue = openTaskQueue({ ledger, prefix: HOLDFAST_QUEUE_PREFIX });
      const { waiting, active, parked } = await queue.counts(SHARED_QUEUE);
      await queue.close();
      await ledger.close();
      return waiting + active + parked;
    },
    start: async (line, more) => {
      const task = await submit(line, more);
      const runs = async () => (await client.status(task)).events >= 2;
      await waitFor(runs, { bound_ms: 20_000, what: `${task.task_id} runs` });
      return task;
    },
    events: async (task) => {
      const found: TaskEvent[] = [];
      for await (const item of client.events(task)) if ("sequence" in item) found.push(item);
      return found;
    },
    containersOf: async (boot_id) => (await containers()).filter(({ labels }) => labels["holdfast.boot"] === boot_id),
    close: async () => {
      await waitFor(async () => (await reserved()) === 0, { bound_ms: 30_000, what: "all capacity is free" });
      await Promise.all(started.map(end));
      await client.close();
      await expectNothingLeft(socket, fleet_id, all);
    },
  };
}
