/**
 * Folder, bridge and leavings of one private engine. Its name tells the process that owns it, so that a later run can
 * clear what a killed run left: programs first, then mounts, then files, then the bridge.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitFor } from "../../support/wait-for.js";
import { processesWith, processFacts } from "./process-facts.js";

const PREFIX = "holdfast-engine-";
const BRIDGE_PREFIX = "hfl";

export interface EngineRoot {
  readonly folder: string;
  readonly bridge: string;
}

/** Socket paths have 107 bytes at most, so the folder stands right under the temporary one. */
export function makeEngineRoot(): EngineRoot {
  const folder = mkdtempSync(join(tmpdir(), PREFIX));
  writeFileSync(join(folder, "owner"), `${process.pid} ${processFacts(process.pid)?.started}`);
  const bridge = makeBridge();
  writeFileSync(join(folder, "bridge"), bridge);
  return { folder, bridge };
}

function ip(...args: string[]): string {
  return execFileSync("ip", args, { stdio: "pipe", encoding: "utf8" });
}

/**
 * Every private engine has a bridge and a subnet of its own: one started without a bridge deletes docker0, which
 * belongs to the machine's own engine.
 */
function makeBridge(): string {
  const taken = ip("-o", "-4", "addr");
  for (let n = 1; n < 255; n += 1) {
    if (taken.includes(` 10.213.${n}.1/`)) continue;
    const bridge = `${BRIDGE_PREFIX}${n}`;
    try {
      ip("link", "add", bridge, "type", "bridge");
    } catch {
      continue;
    }
    ip("addr", "add", `10.213.${n}.1/24`, "dev", bridge);
    ip("link", "set", bridge, "up");
    return bridge;
  }
  throw new Error("no free subnet for a private engine");
}

function mountsBelow(folder: string): string[] {
  const points = readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[1] ?? "");
  return points.filter((point) => point.startsWith(`${folder}/`)).sort((left, right) => right.length - left.length);
}

/** Process 1 of a container names no folder, but its parent, the shim, does. */
function childrenOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    return children.split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function killAllOf(folder: string): number {
  const programs = processesWith(`${folder}/`).filter(({ command }) => /dockerd|containerd/.test(command[0] ?? ""));
  for (const { pid } of programs) {
    for (const target of [pid, ...childrenOf(pid)]) {
      try {
        process.kill(target, "SIGKILL");
      } catch {
        // It ended meanwhile.
      }
    }
  }
  return programs.length;
}

/** Ends and removes all that belongs to the root. The daemon may be dead already. */
export async function clearEngineRoot(root: EngineRoot): Promise<void> {
  await waitFor(() => killAllOf(root.folder) === 0, { bound_ms: 10_000, what: `programs of ${root.folder} are gone` });
  const unmounted = () => {
    for (const point of mountsBelow(root.folder)) execFileSync("umount", ["--lazy", point], { stdio: "pipe" });
    return mountsBelow(root.folder).length === 0;
  };
  await waitFor(unmounted, { bound_ms: 10_000, what: `mounts of ${root.folder} are gone` });
  const removed = () => {
    rmSync(root.folder, { recursive: true, force: true });
    return true;
  };
  await waitFor(removed, { bound_ms: 10_000, what: `${root.folder} is removed` });
  try {
    ip("link", "delete", root.bridge);
  } catch {
    // It was deleted before.
  }
}

function read(folder: string, name: string): string {
  try {
    return readFileSync(join(folder, name), "utf8").trim();
  } catch {
    return "";
  }
}

/** Clears what runs that are gone left behind. */
export async function clearAbandonedEngines(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(PREFIX))) {
    const folder = join(tmpdir(), name);
    const [pid = "", started = ""] = read(folder, "owner").split(" ");
    if (pid !== "" && processFacts(Number(pid))?.started === started) continue;
    await clearEngineRoot({ folder, bridge: read(folder, "bridge") });
  }
}
