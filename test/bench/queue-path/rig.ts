/** A private Redis with a producer and a worker of each kind beside it, each a process of its own. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Ledger, openLedger } from "@holdfast/ledger";
import { Redis } from "ioredis";
import { startPrivateRedis } from "../../support/private-redis.js";
import { waitFor } from "../../support/wait-for.js";
import { BARE_QUEUE, type Batch, type BatchTimes, type Place } from "./place.js";

export type Fsync = "always" | "everysec";

const BOUND_MS = 180_000;
const PREFIX = "bench";
const QUEUE_PREFIX = "bench_q";

export interface Program {
  readonly pid: number;
  submit(batch: Batch): Promise<BatchTimes>;
  /** Resident memory in MiB. */
  memoryMb(): number;
  /** CPU it has used, in milliseconds. */
  cpuMs(): number;
  stop(): Promise<void>;
}

export interface Rig {
  readonly redis: Redis;
  start(program: "worker" | "producer" | "bare-worker" | "bare-producer"): Promise<Program>;
  readonly ledger: Ledger;
  /** Memory that Redis uses for what it stores, in MiB. */
  storedMb(): Promise<number>;
  /** CPU that Redis has used, in milliseconds. */
  redisCpuMs(): Promise<number>;
  /** Resolves when no task waits or runs and no capacity is reserved. */
  tasksEnd(): Promise<void>;
  jobsEnd(): Promise<void>;
  key(name: string): string;
  stop(): Promise<void>;
}

export function residentMb(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/status`, "utf8").match(/VmRSS:\s+(\d+)/)?.[1]) / 1_024;
}

/** Of a running process and its threads, to a hundredth of a second. */
function cpuMs(pid: number): number {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ")
    .slice(11, 13);
  return (Number(user) + Number(system)) * 10;
}

async function startProgram(name: string, place: Place): Promise<Program> {
  const file = join(import.meta.dirname, "program.mjs");
  const child: ChildProcess = fork(file, [name, JSON.stringify(place)], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const exited = once(child, "exit");
  const ended = exited.then(() => {
    throw new Error(`the bench's ${name} ended`);
  });
  ended.catch(() => {});
  const answer = async (): Promise<unknown> => {
    const [message] = (await Promise.race([once(child, "message"), ended])) as [unknown];
    return message;
  };
  await answer();
  return {
    pid: child.pid ?? 0,
    memoryMb: () => residentMb(child.pid ?? 0),
    cpuMs: () => cpuMs(child.pid ?? 0),
    submit: async (batch) => {
      child.send(batch);
      return (await answer()) as BatchTimes;
    },
    stop: async () => {
      child.kill("SIGTERM");
      await exited;
    },
  };
}

export async function startRig(fsync: Fsync, concurrency: number): Promise<Rig> {
  const server = await startPrivateRedis({ settings: { appendfsync: fsync } });
  const redis = new Redis(server.url);
  const place: Place = { redis_url: server.url, prefix: PREFIX, queue_prefix: QUEUE_PREFIX, concurrency };
  const ledger = await openLedger({ url: server.url, prefix: PREFIX, role: "client" });
  const programs: Program[] = [];
  const key = (name: string): string => `{${PREFIX}}:${name}`;

  async function allZero(commands: readonly (readonly [string, string])[]): Promise<boolean> {
    const counts = await Promise.all(commands.map(([command, name]) => redis.call(command, name)));
    return counts.every((count) => count === 0);
  }
  const over = async (what: string, commands: readonly (readonly [string, string])[]): Promise<void> => {
    await waitFor(() => allZero(commands), { bound_ms: BOUND_MS, what, look_ms: 5 });
  };
  const idle = (queue: string) =>
    [
      ["LLEN", `${QUEUE_PREFIX}:${queue}:wait`],
      ["LLEN", `${QUEUE_PREFIX}:${queue}:active`],
    ] as const;

  return {
    redis,
    ledger,
    key,
    storedMb: async () => Number(/used_memory:(\d+)/.exec(await redis.info("memory"))?.[1]) / 1_048_576,
    redisCpuMs: async () => cpuMs(Number(/process_id:(\d+)/.exec(await redis.info("server"))?.[1])),
    start: async (name) => {
      const program = await startProgram(name, place);
      programs.push(program);
      return program;
    },
    tasksEnd: () =>
      over("every task ends", [["ZCARD", key("pending")], ["SCARD", key("reservations")], ...idle("tasks")]),
    jobsEnd: () => over("every job ends", idle(BARE_QUEUE)),
    stop: async () => {
      for (const program of programs) await program.stop();
      await ledger.close();
      redis.disconnect();
      await server.stop();
    },
  };
}
