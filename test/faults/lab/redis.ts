/** A Redis of the lab's own: killed, frozen, restarted, emptied, cut short, filled up, or given another clock. */
import { cpSync, rmSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { freePort } from "../../support/free-port.js";
import { scratchFolder } from "../../support/scratch.js";
import { waitFor } from "../../support/wait-for.js";
import { aofBytes, commandBoundaries, cutAof } from "./aof.js";
import { createFakeClock } from "./fake-clock.js";
import { type LabProcess, startProcess } from "./processes.js";

const READY_BOUND_MS = 15_000;

export interface LabRedisOptions {
  readonly appendfsync?: "always" | "everysec";
  /** Such as `64mb`; nothing is ever evicted. */
  readonly maxmemory?: string;
  /** Its clock can be stepped. */
  readonly clock?: boolean;
  readonly settings?: Readonly<Record<string, string>>;
}

export interface LabRedis {
  readonly port: number;
  readonly url: string;
  readonly folder: string;
  /** The server of now. */
  process(): LabProcess;
  kill(): Promise<void>;
  /** Starts it again on its port over its data, and waits until it answers. Returns how long that took. */
  restart(): Promise<number>;
  /** Killed, its data gone, started again. */
  restartEmpty(): Promise<void>;
  /** Killed, everything behind byte `at` of its append-only file lost, started again. */
  restartCutAt(at: number): Promise<void>;
  /** Size of its append-only file: a place to cut at later. */
  aofBytes(): number;
  commandBoundaries(): number[];
  /** A server of its own over a copy of the data, cut at byte `at`. The caller ends it. */
  forkCutAt(at: number): Promise<LabRedis>;
  freeze(): Promise<void>;
  thaw(): void;
  /** Its clock is off by so many seconds from now on. Needs `clock`. */
  setClock(offset_seconds: number): void;
  /** One command over a connection of its own, for the lab's looks; the raw reply. */
  say(...words: readonly string[]): Promise<string>;
  /** Ends it and removes its data. */
  close(): Promise<void>;
}

function say(port: number, words: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ port, host: "127.0.0.1" });
    let text = "";
    socket.setTimeout(5_000, () => socket.destroy(new Error("redis does not answer")));
    socket.on("data", (chunk) => {
      text += chunk.toString();
      if (text.endsWith("\r\n")) socket.end();
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(text.trimEnd()));
    socket.write(`*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`);
  });
}

async function answers(port: number): Promise<boolean> {
  return (await say(port, ["PING"]).catch(() => "")) === "+PONG";
}

function argumentsOf(port: number, folder: string, options: LabRedisOptions): string[] {
  const settings: Record<string, string> = {
    port: `${port}`,
    bind: "127.0.0.1",
    dir: folder,
    save: "",
    appendonly: "yes",
    appendfsync: options.appendfsync ?? "everysec",
    "maxmemory-policy": "noeviction",
    // A rewrite would move the places that a test remembers.
    "auto-aof-rewrite-percentage": "0",
    ...(options.maxmemory === undefined ? {} : { maxmemory: options.maxmemory }),
    ...options.settings,
  };
  return Object.entries(settings).flatMap(([key, value]) => [`--${key}`, value]);
}

export async function startLabRedis(options: LabRedisOptions = {}, copyOf: string | null = null): Promise<LabRedis> {
  const port = await freePort();
  const folder = scratchFolder("lab-redis");
  const clock = options.clock === true ? createFakeClock(folder) : null;
  if (copyOf !== null) cpSync(join(copyOf, "appendonlydir"), join(folder, "appendonlydir"), { recursive: true });
  const env = { ...process.env, ...clock?.env } as Record<string, string>;
  let server: LabProcess;

  async function start(): Promise<number> {
    const from = performance.now();
    server = await startProcess({
      name: "redis",
      command: "redis-server",
      args: argumentsOf(port, folder, options),
      env,
    });
    await waitFor(() => answers(port), { bound_ms: READY_BOUND_MS, what: "the lab's Redis answers", look_ms: 5 });
    return performance.now() - from;
  }
  async function kill(): Promise<void> {
    await server.kill();
  }

  const lab: LabRedis = {
    port,
    url: `redis://127.0.0.1:${port}`,
    folder,
    process: () => server,
    kill,
    restart: start,
    restartEmpty: async () => {
      await kill();
      rmSync(join(folder, "appendonlydir"), { recursive: true, force: true });
      await start();
    },
    restartCutAt: async (at) => {
      await kill();
      cutAof(folder, at);
      await start();
    },
    aofBytes: () => aofBytes(folder),
    commandBoundaries: () => commandBoundaries(folder),
    forkCutAt: (at) => forkCutAt(folder, at, options),
    freeze: () => server.stop(),
    thaw: () => server.resume(),
    setClock: (offset_seconds) => clock?.set(offset_seconds),
    say: (...words) => say(port, words),
    close: async () => {
      server.resume();
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await start();
  return lab;
}

async function forkCutAt(folder: string, at: number, options: LabRedisOptions): Promise<LabRedis> {
  const copy = scratchFolder("aof-copy");
  cpSync(join(folder, "appendonlydir"), join(copy, "appendonlydir"), { recursive: true });
  cutAof(copy, at);
  const fork = await startLabRedis(options, copy);
  rmSync(copy, { recursive: true, force: true });
  return fork;
}
