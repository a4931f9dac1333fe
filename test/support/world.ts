/**
 * The world of tests that need one: a Redis, an engine with our images, the built agent.
 * Tests read HOLDFAST_TEST_REDIS_URL and HOLDFAST_TEST_ENGINE_SOCKET; what stood outside before stands afterwards.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { foreignCensus } from "./census.js";
import { engineCall } from "./engine-call.js";
import { startPrivateRedis } from "./private-redis.js";
import { clearAbandoned } from "./scratch.js";
import { placeStranger } from "./stranger.js";

const ROOT = join(import.meta.dirname, "..", "..");
const REDIS_URL = "HOLDFAST_TEST_REDIS_URL";
const ENGINE_SOCKET = "HOLDFAST_TEST_ENGINE_SOCKET";
const DOCKER_HOST = "DOCKER_HOST";
const SHELL_IMAGE = "holdfast/shell:1";

function socketFromEnvironment(): string {
  const host = process.env[DOCKER_HOST] ?? "";
  return host.startsWith("unix://") ? host.slice("unix://".length) : "/var/run/docker.sock";
}

async function findEngine(): Promise<string> {
  const socket = process.env[ENGINE_SOCKET] ?? socketFromEnvironment();
  const reply = await engineCall(socket, "GET", "/_ping", undefined, 3_000).catch(() => null);
  if (reply?.status === 200) return socket;
  throw new Error(`no Docker Engine answers at ${socket}: run ./scripts/setup, then ./scripts/engine start`);
}

function run(program: string, ...args: string[]): void {
  const ended = spawnSync(program, args, { cwd: ROOT, encoding: "utf8" });
  if (ended.status !== 0) throw new Error(`${args.join(" ")} failed: ${ended.stderr ?? ended.error?.message}`);
}

/** Quick when nothing changed: the agent and the images are kept from the last time. */
function prepare(socket: string): void {
  run("npm", "run", "--silent", "build:agent");
  run(process.execPath, "images/build.mjs", "--socket", socket);
}

/** Runs once before the files of a project; what it returns runs once after them, also when tests failed. */
export default async function world(): Promise<() => Promise<void>> {
  clearAbandoned();
  const socket = await findEngine();
  prepare(socket);
  const redis = process.env[REDIS_URL] === undefined ? await startPrivateRedis() : null;
  if (redis !== null) process.env[REDIS_URL] = redis.url;
  process.env[ENGINE_SOCKET] = socket;
  const stranger = await placeStranger(socket, SHELL_IMAGE);
  const before = await foreignCensus(socket);

  return async () => {
    // The runner only prints what a teardown throws; the exit code has to be set by hand.
    const exitCode = process.exitCode;
    process.exitCode = 1;
    try {
      await stranger.expectUntouched();
      const after = new Set(await foreignCensus(socket));
      const missing = before.filter((line) => !after.has(line));
      if (missing.length > 0) throw new Error(`gone from the engine though not ours: ${missing.join("; ")}`);
      process.exitCode = exitCode;
    } finally {
      await stranger.remove();
      if (redis !== null) {
        await redis.stop();
        delete process.env[REDIS_URL];
      }
      clearAbandoned();
    }
  };
}
