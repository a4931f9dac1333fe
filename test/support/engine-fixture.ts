/** An engine opened for one test, with a fleet of its own; closing it proves that nothing of that fleet is left. */
import { execFileSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type BootId, drawBootId, drawFleetId, drawSandboxId, type FleetId, type Resources } from "@holdfast/contract";
import {
  type Engine,
  type EngineNotice,
  type EngineOptions,
  openEngine,
  type Sandbox,
  type SandboxSpec,
} from "@holdfast/engine";
import type { GuestExec, GuestExit } from "@holdfast/guest";
import { expect } from "vitest";
import { engineCensus } from "./census.js";
import { engineAsk } from "./engine-call.js";
import { scratchFolder } from "./scratch.js";
import { waitFor } from "./wait-for.js";

export const AGENT_DIRECTORY = join(import.meta.dirname, "..", "..", "packages", "guest", "build");
const PROGRAMS = join(import.meta.dirname, "guest-programs");

export const SMALL: Resources = { cpu: 1, memory_mb: 64, disk_mb: 16, pids_limit: 32 };

export interface TestEngineOptions {
  readonly images?: readonly object[];
  readonly socket?: string;
  readonly agent_directory?: string;
  readonly fleet_id?: FleetId;
  readonly boot_id?: BootId;
  readonly pull?: EngineOptions["pull"];
}

export interface TestEngine {
  readonly engine: Engine;
  readonly socket: string;
  readonly notices: readonly EngineNotice[];
  spec(extra?: Partial<SandboxSpec>): SandboxSpec;
  /** A ready sandbox, assigned for an hour. Destroyed at close where the test did not. */
  sandbox(extra?: Partial<SandboxSpec>): Promise<Sandbox>;
  close(): Promise<void>;
}

/** The world's engine, whatever a test puts before it. */
export function worldSocket(): string {
  const socket = process.env["HOLDFAST_TEST_ENGINE_SOCKET"];
  if (socket === undefined) throw new Error("HOLDFAST_TEST_ENGINE_SOCKET is not set: the world did not start");
  return socket;
}

function writeList(images: readonly object[]): { file: string; folder: string } {
  const folder = scratchFolder("allow");
  const file = join(folder, "allow.json");
  writeFileSync(file, JSON.stringify({ images }));
  return { file, folder };
}

/** Removes the fleet's volumes, which a fleet keeps for good, and proves that no container of it is left (Q1). */
export async function expectFleetGone(fleetId: string): Promise<void> {
  const { containers, volumes } = await waitFor(
    async () => {
      const found = await engineCensus(worldSocket(), fleetId);
      return found.containers.length === 0 ? found : null;
    },
    { bound_ms: 20_000, what: `no container of ${fleetId}` },
  );
  expect(containers).toEqual([]);
  for (const volume of volumes) await engineAsk(worldSocket(), "DELETE", `/volumes/${volume}`);
}

export async function openTestEngine(options: TestEngineOptions = {}): Promise<TestEngine> {
  const fleet_id = options.fleet_id ?? drawFleetId();
  const socket = options.socket ?? worldSocket();
  const notices: EngineNotice[] = [];
  const made: Sandbox[] = [];
  const { file, folder } = writeList(options.images ?? [{ image: "holdfast/shell:1" }]);
  const engine = await openEngine({
    socket_path: socket,
    fleet_id,
    boot_id: options.boot_id ?? drawBootId(),
    images_file: file,
    ...(options.pull === undefined ? {} : { pull: options.pull }),
    agent_directory: options.agent_directory ?? AGENT_DIRECTORY,
    onNotice: (notice) => notices.push(notice),
  });

  const spec = (extra: Partial<SandboxSpec> = {}): SandboxSpec => ({
    sandbox_id: drawSandboxId(),
    purpose: "task",
    image: "holdfast/shell:1",
    resources: SMALL,
    runtime: "runc",
    lifetime_seconds: 3600,
    permission: () => 60_000,
    ...extra,
  });

  return {
    engine,
    socket,
    notices,
    spec,
    async sandbox(extra = {}) {
      const reply = await engine.create(spec(extra));
      if (reply.kind === "failed") throw new Error(JSON.stringify([reply.failure, notices]));
      made.push(reply.sandbox);
      await reply.sandbox.assign({ lifetime_ms: 3_600_000 });
      return reply.sandbox;
    },
    async close() {
      await Promise.all(made.map((sandbox) => sandbox.destroy()));
      await engine.close();
      rmSync(folder, { recursive: true, force: true });
      await expectFleetGone(fleet_id);
    },
  };
}

export interface RunResult {
  readonly exit: GuestExit;
  readonly stdout: string;
  readonly stderr: string;
}

export async function runIn(
  sandbox: Sandbox,
  argv: readonly string[],
  extra: Partial<Omit<GuestExec, "argv">> = {},
): Promise<RunResult> {
  const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []];
  const command = sandbox.exec(
    {
      argv,
      env: {},
      working_directory: "/workspace",
      stdin: Buffer.alloc(0),
      timeout_ms: 60_000,
      leftovers: "kill",
      ...extra,
    },
    { stdout: (chunk) => void stdout.push(chunk), stderr: (chunk) => void stderr.push(chunk), progress() {} },
  );
  command.started.catch(() => undefined);
  const exit = await command.exited;
  return { exit, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() };
}

/** Compiles one of our C programs for sandboxes: static, so that it runs in any image. */
export function compileProgram(name: string): string {
  const file = join(scratchFolder("program"), name);
  execFileSync("cc", ["-static", "-O1", "-o", file, join(PROGRAMS, `${name}.c`)]);
  if (!existsSync(file)) throw new Error(`${name} was not compiled`);
  return file;
}

interface Inspected {
  readonly Id: string;
  readonly Name: string;
  readonly State: { readonly Pid: number; readonly Running: boolean };
}

/** The container behind a sandbox, looked up beside the engine's own client. */
export async function containerOf(sandboxId: string): Promise<Inspected> {
  const filters = encodeURIComponent(JSON.stringify({ label: [`holdfast.sandbox=${sandboxId}`] }));
  const rows = (await engineAsk(worldSocket(), "GET", `/containers/json?all=1&filters=${filters}`)) as { Id: string }[];
  if (rows[0] === undefined) throw new Error(`no container of ${sandboxId}`);
  return (await engineAsk(worldSocket(), "GET", `/containers/${rows[0].Id}/json`)) as Inspected;
}

/** Host pids of all processes of a container. */
export async function hostPids(id: string): Promise<number[]> {
  const { Titles, Processes } = (await engineAsk(worldSocket(), "GET", `/containers/${id}/top`)) as {
    Titles: string[];
    Processes: string[][];
  };
  const column = Titles.indexOf("PID");
  return Processes.map((row) => Number(row[column]));
}
