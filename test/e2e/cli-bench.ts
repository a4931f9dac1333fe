/** The built command as a user has it: processes, exit codes, bytes. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { engineCensus } from "../support/census.js";
import { engineAsk } from "../support/engine-call.js";
import { scratchFolder } from "../support/scratch.js";
import { waitFor } from "../support/wait-for.js";

const ROOT = join(import.meta.dirname, "..", "..");
const BIN = join(ROOT, "apps/cli/bin/holdfast.js");
const SOCKET_VARIABLE = "HOLDFAST_TEST_ENGINE_SOCKET";
const READY_WITHIN_MS = 60_000;

export interface Ended {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly took_ms: number;
}

export interface Running {
  readonly child: ChildProcess;
  readonly pid: number;
  stdout(): string;
  stderr(): string;
  readonly ended: Promise<Ended>;
}

export interface Bench {
  /** The data folder of its `up`. */
  readonly data: string;
  start(words: readonly string[], input?: Buffer, env?: Readonly<Record<string, string>>): Running;
  /** Runs one command to its end. */
  holdfast(...words: string[]): Promise<Ended>;
  /** Starts an `up` and waits for its one ready line. */
  up(...words: string[]): Promise<Running>;
  /** Fleet of the data folder, once it came up. */
  fleetId(): string;
  containers(): Promise<number>;
  /** Ends all of it, and insists that nothing of the fleet is left. */
  close(): Promise<void>;
}

/** Compiles what changed since the last time. */
export function buildPrograms(): void {
  execFileSync("npx", ["tsc", "-b"], { cwd: ROOT, stdio: "pipe" });
}

const socket = (): string => process.env[SOCKET_VARIABLE] ?? "/var/run/docker.sock";

export function processesOf(text: string): number[] {
  const rows = execFileSync("ps", ["-eo", "pid=,args="], { encoding: "utf8" }).split("\n");
  return rows.filter((row) => row.includes(text) && !row.includes("ps -eo")).map((row) => Number.parseInt(row, 10));
}

function launch(words: readonly string[], env: NodeJS.ProcessEnv, input: Buffer): Running {
  const began = performance.now();
  const child = spawn(process.execPath, [BIN, ...words], { cwd: ROOT, env, stdio: "pipe" });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  const ended = new Promise<Ended>((resolve) => {
    child.on("close", (code) => {
      const stderr = Buffer.concat(err).toString();
      resolve({ code, stdout: Buffer.concat(out), stderr, took_ms: performance.now() - began });
    });
  });
  return {
    child,
    pid: child.pid ?? 0,
    stdout: () => Buffer.concat(out).toString(),
    stderr: () => Buffer.concat(err).toString(),
    ended,
  };
}

async function removeFleet(fleet_id: string): Promise<void> {
  const { containers, volumes, networks } = await engineCensus(socket(), fleet_id);
  for (const { id } of containers) await engineAsk(socket(), "DELETE", `/containers/${id}?force=1&v=1`);
  for (const name of volumes) await engineAsk(socket(), "DELETE", `/volumes/${name}`);
  expect({ containers: containers.map(({ name }) => name), networks }).toEqual({ containers: [], networks: [] });
}

export function openBench(): Bench {
  const folder = scratchFolder("cli");
  const data = join(folder, "fleet");
  const { REDIS_URL: _, ...rest } = process.env;
  // Tests count containers; those of the pool ask for one.
  const env = { ...rest, HOLDFAST_DATA: data, HOLDFAST_POOL: "0", DOCKER_HOST: `unix://${socket()}` };
  const start: Bench["start"] = (words, input = Buffer.alloc(0), more = {}) =>
    launch(words, { ...env, ...more }, input);
  const fleetFile = join(data, "fleet");
  const fleetId = (): string => readFileSync(fleetFile, "utf8").trim();

  return {
    data,
    start,
    holdfast: (...words) => start(words).ended,
    up: async (...words) => {
      const up = start(["up", "--port", "0", ...words]);
      const settled = () => /\bready\b/.test(up.stdout()) || up.child.exitCode !== null;
      await waitFor(settled, { bound_ms: READY_WITHIN_MS, what: `up is ready: ${up.stderr()}` });
      if (up.child.exitCode !== null) throw new Error(`up ended with ${up.child.exitCode}: ${up.stderr()}`);
      return up;
    },
    fleetId,
    containers: async () => (await engineCensus(socket(), fleetId())).containers.length,
    close: async () => {
      const down = await start(["down"]).ended;
      const left = processesOf(folder);
      const known = existsSync(fleetFile) ? fleetId() : null;
      rmSync(folder, { recursive: true, force: true });
      if (known !== null) await removeFleet(known);
      expect({ code: down.code, stderr: down.stderr, left }).toEqual({ code: 0, stderr: "", left: [] });
    },
  };
}
