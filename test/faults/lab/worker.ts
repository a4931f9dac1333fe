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

/** One worker over all its lives. */
export class LabWorker {
  readonly name: string;
  readonly redis: FaultProxy;
  readonly engine: FaultProxy;
  private readonly options: LabWorkerOptions;
  private readonly lines: Readonly<Record<string, string>>;
  private child: LabProcess | null = null;
  private begun_at = 0;

  constructor(options: LabWorkerOptions, redis: FaultProxy, engine: FaultProxy, listen: string) {
    this.name = options.name;
    this.redis = redis;
    this.engine = engine;
    this.options = options;
    this.lines = { REDIS_URL: `redis://127.0.0.1:${redis.port}`, DOCKER_HOST: `unix://${listen}` };
  }

  process(): LabProcess {
    if (this.child === null) throw new Error(`${this.name} was never started`);
    return this.child;
  }

  isAlive(): boolean {
    return this.child?.alive() ?? false;
  }

  /** Boots of all its lives, oldest first. */
  boots(): string[] {
    const ours = allOf(this.options.history.records, "boot").filter(({ actor }) => actor === this.name);
    return [...new Set(ours.map(({ boot }) => boot))];
  }

  /** Starts the program and waits for nothing. */
  async launch(env: Readonly<Record<string, string>> = {}): Promise<void> {
    const { history } = this.options;
    this.begun_at = history.records.length;
    const inherited = process.env as Record<string, string>;
    this.child = await startProcess({
      name: this.name,
      command: process.execPath,
      args: [PROGRAM],
      env: { ...inherited, ...this.options.env, ...this.lines, ...env },
    });
    history.add({ kind: "process", actor: this.name, did: "start" });
  }

  /** Resolves when a beat of the present life was taken. */
  async ready(): Promise<void> {
    const child = this.process();
    const last = () => child.lines.slice(-8).join("\n");
    const beats = () => {
      const since = allOf(this.options.history.records.slice(this.begun_at), "beat");
      return !child.alive() || since.some(({ actor, reply }) => actor === this.name && reply === "ok");
    };
    await waitFor(beats, { bound_ms: READY_BOUND_MS, what: `${this.name} beats` }).catch((error: unknown) => {
      throw new Error(`${error instanceof Error ? error.message : error}: ${last()}`);
    });
    if (child.alive()) return;
    await child.silent;
    throw new Error(`${this.name} ended at its start: ${last()}`);
  }

  async start(env: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.launch(env);
    await this.ready();
  }

  async kill(): Promise<void> {
    await this.options.look();
    await this.process().kill();
    this.options.history.add({ kind: "process", actor: this.name, did: "SIGKILL" });
    await this.options.look();
  }

  async stop(): Promise<void> {
    await this.options.look();
    await this.process().stop();
    this.options.history.add({ kind: "process", actor: this.name, did: "SIGSTOP" });
  }

  resume(): void {
    this.options.history.add({ kind: "process", actor: this.name, did: "SIGCONT" });
    this.process().resume();
  }

  async terminate(bound_ms: number): Promise<ProcessEnd> {
    this.options.history.add({ kind: "process", actor: this.name, did: "SIGTERM" });
    const end = await this.process().terminate(bound_ms);
    this.options.history.add({ kind: "process", actor: this.name, did: `exit ${end.code}` });
    return end;
  }

  /** Ends program and proxies. */
  async close(): Promise<void> {
    this.child?.resume();
    await this.child?.kill();
    await this.redis.close();
    await this.engine.close();
  }
}

export async function createLabWorker(options: LabWorkerOptions): Promise<LabWorker> {
  const redis = await startRedisProxy({ port: options.redis_port, names: scriptNames() });
  const listen = join(options.folder, `${options.name}.sock`);
  const engine = await startEngineProxy({ socket: options.engine_socket, listen });
  sightScripts(redis, options.name, options.history);
  sightEngineCalls(engine, options.name, options.history);
  return new LabWorker(options, redis, engine, listen);
}
