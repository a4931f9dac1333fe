/** A Redis of one test file's own, that may be killed, started again over its data, and stopped in its tracks. */
import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { connect } from "node:net";
import { freePort } from "./free-port.js";
import { scratchFolder } from "./scratch.js";
import { waitFor } from "./wait-for.js";

export interface PrivateRedis {
  readonly url: string;
  readonly port: number;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
  /** SIGKILL; its data stays. */
  kill(): Promise<void>;
  /** Starts it again on its port over its data. */
  restart(): Promise<void>;
  /** SIGSTOP: connections stay open and nothing answers. */
  freeze(): void;
  thaw(): void;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write("PING\r\n"));
    socket.on("data", (data) => {
      socket.destroy();
      resolve(data.toString().startsWith("+PONG"));
    });
    socket.on("error", () => resolve(false));
  });
}

function ended(child: ChildProcess): Promise<true> {
  const condition = () => child.exitCode !== null || child.signalCode !== null;
  return waitFor(condition, { bound_ms: 10_000, what: "the private Redis ends" });
}

export interface PrivateRedisOptions {
  /** More settings of the server, or others in place of AOF and no eviction. */
  readonly settings?: Readonly<Record<string, string>>;
}

export async function startPrivateRedis(options: PrivateRedisOptions = {}): Promise<PrivateRedis> {
  const port = await freePort();
  const folder = scratchFolder("private-redis");
  const settings = {
    port: `${port}`,
    bind: "127.0.0.1",
    dir: folder,
    save: "",
    appendonly: "yes",
    "maxmemory-policy": "noeviction",
    ...options.settings,
  };
  const args = Object.entries(settings).flatMap(([key, value]) => [`--${key}`, value]);
  let child: ChildProcess;

  async function start(): Promise<void> {
    child = spawn("redis-server", args, { stdio: "ignore" });
    child.once("error", () => undefined);
    await waitFor(() => answers(port), { bound_ms: 10_000, what: "the private Redis answers" });
  }

  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    stop: async () => {
      child.kill("SIGCONT");
      child.kill("SIGKILL");
      await ended(child);
      rmSync(folder, { recursive: true, force: true });
    },
    kill: async () => {
      child.kill("SIGKILL");
      await ended(child);
    },
    restart: start,
    freeze: () => {
      child.kill("SIGSTOP");
    },
    thaw: () => {
      child.kill("SIGCONT");
    },
  };
}
