/** One Redis for a whole test run: AOF on, as the fleet demands it, and nothing evicted. */
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { scratchFolder } from "./scratch.js";
import { waitFor } from "./wait-for.js";

export interface WorldRedis {
  readonly url: string;
  stop(): Promise<void>;
}

/** A port that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
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

export async function startWorldRedis(): Promise<WorldRedis> {
  const port = await freePort();
  const folder = scratchFolder("redis");
  const settings = {
    port,
    bind: "127.0.0.1",
    dir: folder,
    save: "",
    appendonly: "yes",
    "maxmemory-policy": "noeviction",
  };
  const args = Object.entries(settings).flatMap(([key, value]) => [`--${key}`, `${value}`]);
  const child = spawn("redis-server", args, { stdio: "ignore" });
  const failed = new Promise<never>((_, reject) => {
    child.once("error", () => reject(new Error("redis-server cannot be started: run ./scripts/setup")));
    child.once("exit", (code) => reject(new Error(`redis-server ended at once with ${code}`)));
  });
  failed.catch(() => undefined);
  await Promise.race([failed, waitFor(() => answers(port), { bound_ms: 10_000, what: "the private Redis answers" })]);
  return {
    url: `redis://127.0.0.1:${port}`,
    stop: async () => {
      child.kill("SIGTERM");
      await waitFor(() => child.exitCode !== null || child.signalCode !== null, {
        bound_ms: 10_000,
        what: "the private Redis ends",
      });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
