/** Reads what walls there are: from this machine's kernel, which is also the engine's, and from its folder's disk. */
import { readFile, statfs } from "node:fs/promises";
import type { WallFacts } from "./walls.js";

/** What has to be known of an engine to find its walls. */
export interface EnginePlace {
  /** Its folder, as it tells itself. */
  readonly data_root: string | null;
  /** False where its containers' keys count for a user that is not root. */
  readonly keys_of_root: boolean;
}

const ROOT_UID = "0";

async function textOf(path: string): Promise<string | null> {
  return readFile(path, "utf8").catch(() => null);
}

/** The first whole number of the file; null where it holds none, as where it says `max`. */
async function numberIn(path: string): Promise<number | null> {
  const found = /^\s*([0-9]+)\b/.exec((await textOf(path)) ?? "")?.[1];
  return found === undefined ? null : Number(found);
}

async function pidsOfCgroup(): Promise<number | null> {
  const limits = [await numberIn("/sys/fs/cgroup/pids/pids.max"), await numberIn("/sys/fs/cgroup/pids.max")];
  const known = limits.filter((limit) => limit !== null);
  return known.length === 0 ? null : Math.min(...known);
}

async function keysUsed(uid: string): Promise<number> {
  const line = (await textOf("/proc/key-users"))?.split("\n").find((row) => row.trim().startsWith(`${uid}:`));
  return Number(/ ([0-9]+)\/[0-9]+ [0-9]+\/[0-9]+\s*$/.exec(line ?? "")?.[1] ?? 0);
}

async function descriptorsMax(): Promise<number | null> {
  const found = /^Max open files\s+([0-9]+)/m.exec((await textOf("/proc/self/limits")) ?? "")?.[1];
  return found === undefined ? null : Number(found);
}

/** Connections of this machine, at most the ports that are taken. */
async function portsOf(): Promise<WallFacts["ports"]> {
  const range = /^([0-9]+)\s+([0-9]+)/.exec((await textOf("/proc/sys/net/ipv4/ip_local_port_range")) ?? "");
  if (range === null) return null;
  const sockets = (await Promise.all(["tcp", "tcp6"].map((name) => textOf(`/proc/net/${name}`)))).join("");
  const [first, last] = [Number(range[1]), Number(range[2])];
  const taken = new Set<number>();
  for (const [, port = ""] of sockets.matchAll(/^\s*[0-9]+: [0-9A-F]+:([0-9A-F]{4}) /gm)) {
    const number = Number.parseInt(port, 16);
    if (number >= first && number <= last) taken.add(number);
  }
  return { first, last, used: taken.size };
}

async function diskOf(data_root: string | null): Promise<WallFacts["disk"]> {
  if (data_root === null) return null;
  try {
    const { bavail, bsize, ffree, files } = await statfs(data_root);
    // Some file systems make inodes as they need them, and say that there are none.
    return { free_mb: Math.floor((bavail * bsize) / (1024 * 1024)), inodes_free: files === 0 ? null : ffree };
  } catch {
    return null;
  }
}

export async function readWalls({ data_root, keys_of_root }: EnginePlace): Promise<WallFacts> {
  const kernel = "/proc/sys/kernel";
  return {
    pid_max: await numberIn(`${kernel}/pid_max`),
    threads_max: await numberIn(`${kernel}/threads-max`),
    pids_cgroup_max: await pidsOfCgroup(),
    keys_max: await numberIn(`${kernel}/keys/${keys_of_root ? "root_maxkeys" : "maxkeys"}`),
    keys_used: keys_of_root ? await keysUsed(ROOT_UID) : 0,
    inotify_instances_max: await numberIn("/proc/sys/fs/inotify/max_user_instances"),
    descriptors_max: await descriptorsMax(),
    ports: await portsOf(),
    disk: await diskOf(data_root),
  };
}
