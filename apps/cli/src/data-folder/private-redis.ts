/**
 * The Redis of an `up` that was given none. It runs in a session of its own: a Ctrl-C meant for `up` must not end it
 * before the worker has drained, and a killed `up` leaves it to the next one, which takes it over with all its data.
 */
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { pause, until } from "@holdfast/chassis";
import { CommandFault } from "../command-fault.js";
import { type DataFolder, readPrivateFile, writePrivateFile } from "./data-folder.js";
import { isRunning, type ProcessIdentity } from "./process-identity.js";
import { drawPassword, parseRedisConfig, type RedisAddress, renderRedisConfig, urlOf } from "./redis-config.js";
import { probeRedis } from "./redis-probe.js";
import { findOnPath, REDIS_PROGRAM, serversIn } from "./redis-process.js";

export interface PrivateRedis {
  readonly url: string;
  readonly pid: number;
  /** True where it ran already. */
  readonly taken_over: boolean;
  isRunning(): boolean;
  /** Ends it with its data on disk. */
  stop(): Promise<void>;
}

/** Reading a large append-only file takes a while; the process must be alive all that time. */
const READY_WITHIN_MS = 120_000;
const STOP_WITHIN_MS = 30_000;
const POLL_MS = 25;
const START_TRIES = 3;

function portIsFree(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(null));
    server.listen({ host: "127.0.0.1", port }, () => {
      const address = server.address();
      const taken = address !== null && typeof address === "object" ? address.port : null;
      server.close(() => resolve(taken));
    });
  });
}

/** The kept port while it is free, so that producers' URLs stay good; else one the kernel picks. */
async function addressFor(kept: RedisAddress | null, may_move: boolean): Promise<RedisAddress> {
  if (kept !== null && (await portIsFree(kept.port)) !== null) return kept;
  const port = kept === null || may_move ? await portIsFree(0) : null;
  if (port === null) throw new CommandFault("platform", "the private Redis finds no free port on 127.0.0.1");
  return { port, password: kept?.password ?? drawPassword() };
}

export async function stopServer(server: ProcessIdentity): Promise<boolean> {
  if (isRunning(server)) process.kill(server.pid, "SIGTERM");
  return until(() => !isRunning(server), { every_ms: POLL_MS, within_ms: STOP_WITHIN_MS });
}

function handleOf(server: ProcessIdentity, address: RedisAddress, taken_over: boolean): PrivateRedis {
  return {
    url: urlOf(address),
    pid: server.pid,
    taken_over,
    isRunning: () => isRunning(server),
    stop: async () => {
      if (await stopServer(server)) return;
      throw new CommandFault("platform", `the private Redis (pid ${server.pid}) did not end within 30 s`);
    },
  };
}

/** True once it answers as ours; false if it ended first, is another server, or took too long. */
async function becomesReady(server: ProcessIdentity, address: RedisAddress): Promise<boolean> {
  let ready = false;
  await until(
    async () => {
      const reply = await probeRedis(address);
      ready = reply.kind === "ready";
      return ready || reply.kind === "foreign" || !isRunning(server);
    },
    { every_ms: POLL_MS, within_ms: READY_WITHIN_MS },
  );
  return ready && isRunning(server);
}

async function takeOver(folder: DataFolder, server: ProcessIdentity): Promise<PrivateRedis | null> {
  const address = parseRedisConfig(readPrivateFile(folder.redis_config_file) ?? "");
  if (address !== null && (await becomesReady(server, address))) return handleOf(server, address, true);
  if (!isRunning(server)) return null;
  throw new CommandFault(
    "platform",
    `a ${REDIS_PROGRAM} (pid ${server.pid}) uses ${folder.redis_directory} and does not answer: stop it first`,
  );
}

function spawnServer(program: string, folder: DataFolder): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [folder.redis_config_file], {
      cwd: folder.redis_directory,
      detached: true,
      stdio: "ignore",
      env: { PATH: "/usr/bin:/bin", LANG: "C" },
    });
    child.once("spawn", resolve);
    child.once("error", reject);
    child.unref();
  });
}

async function start(folder: DataFolder, program: string, may_move: boolean): Promise<PrivateRedis> {
  for (let attempt = 0; attempt < START_TRIES; attempt += 1) {
    const kept = parseRedisConfig(readPrivateFile(folder.redis_config_file) ?? "");
    const address = await addressFor(kept, may_move);
    writePrivateFile(folder.redis_config_file, renderRedisConfig(folder, address));
    await spawnServer(program, folder);
    const server = serversIn(folder.redis_directory)[0];
    if (server !== undefined && (await becomesReady(server, address))) return handleOf(server, address, false);
    if (server !== undefined) await stopServer(server);
    await pause(POLL_MS);
  }
  throw new CommandFault("platform", `the private Redis did not start: see ${folder.redis_log_file}`);
}

export interface PrivateRedisOptions {
  /** Where redis-server is looked for. */
  readonly path: string;
  /** False where programs use its URL already: it then waits for its port instead of taking another. */
  readonly may_move: boolean;
}

/** Takes the running server of this folder over, or starts one on its data. The caller holds the folder's lock. */
export async function openPrivateRedis(folder: DataFolder, options: PrivateRedisOptions): Promise<PrivateRedis> {
  const running = serversIn(folder.redis_directory)[0];
  const taken = running === undefined ? null : await takeOver(folder, running);
  if (taken !== null) return taken;
  const program = findOnPath(REDIS_PROGRAM, options.path);
  if (program === null) {
    const remedy = "install the Debian package redis-server (apt-get install redis-server), or set REDIS_URL";
    throw new CommandFault("platform", `${REDIS_PROGRAM} is not on PATH: ${remedy}`);
  }
  return start(folder, program, options.may_move);
}
