/** Private Docker Engines as hosts. They stand beside the machine's own engine and touch nothing of it. */
import { execFileSync } from "node:child_process";
import { appendFileSync, createReadStream, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { engineAsk, engineCall } from "../../support/engine-call.js";
import { waitFor } from "../../support/wait-for.js";
import { clearAbandonedEngines, clearEngineRoot, makeEngineRoot } from "./engine-root.js";
import { processesWith, processFacts, residentKb } from "./process-facts.js";
import { type LabProcess, startProcess } from "./processes.js";

const ROOT = join(import.meta.dirname, "..", "..", "..");
/** A start over containers that a killed daemon left takes longer: each is stopped first. */
const READY_BOUND_MS = 60_000;

export interface LabEngineOptions {
  /** Containers outlive the daemon. */
  readonly live_restore?: boolean;
  /** Its data lie in memory and have so much room. */
  readonly data_mb?: number;
}

export interface LabEngine {
  readonly socket: string;
  readonly folder: string;
  readonly bridge: string;
  /** The daemon of now. */
  process(): LabProcess;
  /** SIGKILL of the daemon; containers and their shims stay. */
  kill(): Promise<void>;
  /** Starts the daemon again over its data. Returns after how many milliseconds it answered. */
  restart(): Promise<number>;
  freeze(): Promise<void>;
  thaw(): void;
  /** Loads an archive written by `docker save`. */
  load(archive: string): Promise<void>;
  /** Loads the fleet's images. */
  loadImages(): void;
  /** Leaves no free block where it keeps its data, until the returned function is called. Needs `data_mb`. */
  fill(): () => void;
  /** Resident memory of the daemon and its containerd. */
  residentMb(): number;
  /** Ends it with all it runs, and removes its data, mounts and bridge. */
  close(): Promise<void>;
}

function argumentsOf(folder: string, bridge: string, options: LabEngineOptions): string[] {
  return [
    `--host=unix://${folder}/s`,
    `--data-root=${folder}/data`,
    `--exec-root=${folder}/exec`,
    `--pidfile=${folder}/pid`,
    // No settings of the machine's own engine.
    `--config-file=${folder}/daemon.json`,
    `--bridge=${bridge}`,
    // Rules and forwarding belong to the machine's own engine; sandboxes have no network.
    "--iptables=false",
    "--ip6tables=false",
    "--ip-forward=false",
    "--ip-masq=false",
    "--userland-proxy=false",
    ...(options.live_restore === true ? ["--live-restore"] : []),
  ];
}

function upload(socketPath: string, archive: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/x-tar" };
    const path = "/images/load?quiet=1";
    const call = request(
      { socketPath, method: "POST", path, headers, signal: AbortSignal.timeout(120_000) },
      (reply) => {
        let text = "";
        reply.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        const bad = () => reply.statusCode !== 200 || text.includes("errorDetail");
        reply.on("end", () => (bad() ? reject(new Error(`load: ${reply.statusCode} ${text}`)) : resolve()));
      },
    );
    call.on("error", reject);
    createReadStream(archive).on("error", reject).pipe(call);
  });
}

/**
 * The daemon's containerd dies with it. Where the machine's process 1 is slow to take note, a new daemon would believe
 * it alive by the pid file.
 */
async function untilContainerdGone(folder: string): Promise<void> {
  const file = join(folder, "exec", "containerd", "containerd.pid");
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, "utf8"));
  const dead = () => ["Z", undefined].includes(processFacts(pid)?.state);
  await waitFor(dead, { bound_ms: 5_000, what: "the private engine's containerd is dead", look_ms: 5 });
  rmSync(file, { force: true });
}

function mountData(folder: string, data_mb: number): void {
  mkdirSync(join(folder, "data"));
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${data_mb}m`, "tmpfs", join(folder, "data")], { stdio: "pipe" });
}

/** Writes until there is no room for one byte more. */
function fillUp(folder: string): () => void {
  const file = join(folder, "data", "full");
  for (const size of [1024 * 1024, 4096]) {
    const bytes = Buffer.alloc(size);
    try {
      for (;;) appendFileSync(file, bytes);
    } catch (error) {
      if (!(error instanceof Error) || !("code" in error) || error.code !== "ENOSPC") throw error;
    }
  }
  return () => rmSync(file);
}

let cleared: Promise<void> | null = null;

export async function startLabEngine(options: LabEngineOptions = {}): Promise<LabEngine> {
  cleared ??= clearAbandonedEngines();
  await cleared;
  const { folder, bridge } = makeEngineRoot();
  if (options.data_mb !== undefined) mountData(folder, options.data_mb);
  writeFileSync(join(folder, "daemon.json"), "{}");
  const socket = join(folder, "s");
  let daemon: LabProcess;

  async function start(): Promise<number> {
    const from = performance.now();
    const args = argumentsOf(folder, bridge, options);
    daemon = await startProcess({ name: `dockerd ${bridge}`, command: "dockerd", args });
    const answers = async () => (await engineCall(socket, "GET", "/_ping", undefined, 2_000)).status === 200;
    const ready = waitFor(() => !daemon.alive() || answers(), {
      bound_ms: READY_BOUND_MS,
      what: "the private engine answers",
      look_ms: 25,
    });
    await ready;
    if (!daemon.alive()) throw new Error(`the private engine ended: ${daemon.lines.slice(-3).join(" | ")}`);
    return performance.now() - from;
  }

  const lab: LabEngine = {
    socket,
    folder,
    bridge,
    process: () => daemon,
    kill: async () => {
      await daemon.kill();
      await untilContainerdGone(folder);
    },
    restart: start,
    freeze: () => daemon.stop(),
    thaw: () => daemon.resume(),
    load: (archive) => upload(socket, archive),
    loadImages: () => {
      execFileSync(process.execPath, ["images/build.mjs", "--socket", socket], { cwd: ROOT, stdio: "pipe" });
    },
    fill: () => {
      if (options.data_mb === undefined) throw new Error("the machine's own disk is never filled");
      return fillUp(folder);
    },
    residentMb: () => {
      const programs = processesWith(`${folder}/`).filter(({ command }) => !/shim/.test(command[0] ?? ""));
      return programs.reduce((sum, { pid }) => sum + residentKb(pid), 0) / 1024;
    },
    close: async () => {
      await daemon.kill();
      await clearEngineRoot({ folder, bridge });
    },
  };
  try {
    await start();
  } catch (error) {
    await lab.close();
    throw error;
  }
  return lab;
}

export interface SeenContainer {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Unix seconds by the engine's clock. */
  readonly created_s: number;
}

interface ContainerRow {
  readonly Id: string;
  readonly Names: readonly string[];
  readonly State: string;
  readonly Labels: Readonly<Record<string, string>> | null;
  readonly Created: number;
}

/** Every container in every state. */
export async function containersOf(socket: string): Promise<SeenContainer[]> {
  const rows = (await engineAsk(socket, "GET", "/containers/json?all=1")) as ContainerRow[];
  return rows.map((row) => ({
    id: row.Id,
    name: (row.Names[0] ?? "").replace(/^\//, ""),
    state: row.State,
    labels: row.Labels ?? {},
    created_s: row.Created,
  }));
}
