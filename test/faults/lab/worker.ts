/** A worker as a child process behind two proxies of its own: one before Redis, one before its engine. */
import { join } from "node:path";
import { waitFor } from "../../support/wait-for.js";
import { allOf, type History } from "./history.js";
import { type LabProcess, type ProcessEnd, startProcess } from "./processes.js";
import { type FaultProxy, startEngineProxy, startRedisProxy } from "./proxy.js";
import { scriptNames } from "./script-names.js";
import { sightEngineCalls, sightScripts } from "./sight-scripts.js";

const PROGRAM = join(import.meta.dirname, "..", "..", "..", "apps", "worker", "dist", "main.js");
const READY_BOUND_MS = 60_000;

export interface LabWorkerOptions {
  readonly name: string;
  readonly redis_port: number;
  readonly engine_socket: string;
  /** Folder for its sockets. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly history: History;
  /** Looks at ledger and engines around a kill. */
  look(): Promise<void>;
}

export interface LabWorker {
  readonly name: string;
  readonly redis: FaultProxy;
  readonly engine: FaultProxy;
  process(): LabProcess;
  /** Boots of all its lives, oldest first. */
  boots(): string[];
  /** Starts the program. Resolves when its boot was heard by the ledger. */
  start(env?: Readonly<Record<string, string>>): Promise<void>;
  /** Starts the program and waits for nothing. */
  launch(env?: Readonly<Record<string, string>>): Promise<void>;
  ready(): Promise<void>;
  kill(): Promise<void>;
  stop(): Promise<void>;
  resume(): void;
  terminate(bound_ms: number): Promise<ProcessEnd>;
  /** Ends program and proxies. */
  close(): Promise<void>;
}

export async function createLabWorker(options: LabWorkerOptions): Promise<LabWorker> {
  const { name, history, look } = options;
  const redis = await startRedisProxy({ port: options.redis_port, names: scriptNames() });
  const listen = join(options.folder, `${name}.sock`);
  const engine = await startEngineProxy({ socket: options.engine_socket, listen });
  sightScripts(redis, name, history);
  sightEngineCalls(engine, name, history);
  let child: LabProcess | null = null;
  let begun_at = 0;

  function current(): LabProcess {
    if (child === null) throw new Error(`${name} was never started`);
    return child;
  }

  async function launch(env: Readonly<Record<string, string>> = {}): Promise<void> {
    begun_at = history.records.length;
    child = await startProcess({
      name,
      command: process.execPath,
      args: [PROGRAM],
      env: {
        ...(process.env as Record<string, string>),
        ...options.env,
        REDIS_URL: `redis://127.0.0.1:${redis.port}`,
        DOCKER_HOST: `unix://${listen}`,
        ...env,
      },
    });
    history.add({ kind: "process", actor: name, did: "start" });
  }

  async function ready(): Promise<void> {
    const beats = () =>
      allOf(history.records.slice(begun_at), "beat").some((beat) => beat.actor === name && beat.reply === "ok");
    const settled = () => beats() || !current().alive();
    await waitFor(settled, { bound_ms: READY_BOUND_MS, what: `${name} beats` }).catch((error: unknown) => {
      throw new Error(`${error instanceof Error ? error.message : error}: ${current().lines.slice(-8).join("\n")}`);
    });
    if (!current().alive()) throw new Error(`${name} ended at its start: ${current().lines.slice(-8).join("\n")}`);
  }

  return {
    name,
    redis,
    engine,
    process: current,
    boots: () => [
      ...new Set(
        allOf(history.records, "boot")
          .filter(({ actor }) => actor === name)
          .map(({ boot }) => boot),
      ),
    ],
    launch,
    ready,
    start: async (env) => {
      await launch(env);
      await ready();
    },
    kill: async () => {
      await look();
      await current().kill();
      history.add({ kind: "process", actor: name, did: "SIGKILL" });
      await look();
    },
    stop: async () => {
      await look();
      await current().stop();
      history.add({ kind: "process", actor: name, did: "SIGSTOP" });
    },
    resume: () => {
      history.add({ kind: "process", actor: name, did: "SIGCONT" });
      current().resume();
    },
    terminate: async (bound_ms) => {
      history.add({ kind: "process", actor: name, did: "SIGTERM" });
      const end = await current().terminate(bound_ms);
      history.add({ kind: "process", actor: name, did: `exit ${end.code}` });
      return end;
    },
    close: async () => {
      child?.resume();
      await child?.kill();
      await redis.close();
      await engine.close();
    },
  };
}
