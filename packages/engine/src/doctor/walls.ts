/** What the kernel and the engine's disk have room for, whatever limits a host is given. Pure. */
import { type Check, failing, passed, skipped, warning } from "./check.js";

export interface WallFacts {
  readonly pid_max: number | null;
  readonly threads_max: number | null;
  /** Of the control group that this machine's processes are in; null where there is none. */
  readonly pids_cgroup_max: number | null;
  /** Keys that the engine's user may have, and has: the runtime gives each container a keyring. */
  readonly keys_max: number | null;
  readonly keys_used: number;
  readonly inotify_instances_max: number | null;
  /** Files that this process may have open: a worker holds a connection for each sandbox. */
  readonly descriptors_max: number | null;
  readonly ports: { readonly first: number; readonly last: number; readonly used: number } | null;
  /** Of the engine's folder; null where it cannot be seen from here. */
  readonly disk: { readonly free_mb: number; readonly inodes_free: number | null } | null;
}

/** At most so much of an amount, whatever else would allow more. */
export interface Wall {
  readonly check: Check;
  readonly slots: number | null;
  readonly pids: number | null;
}

/** The rest is for the engine, its shims and everything else on the machine. */
const PIDS_SHARE = 0.8;
const PIDS_MIN = 4_096;
const KEYS_FOR_OTHERS = 50;
const KEYS_PER_SANDBOX = 2;
const KEYS_MIN = 1_000;
const INOTIFY_MIN = 128;
/** Redis, logs, health pages and the engine's own calls. */
const DESCRIPTORS_FOR_OTHERS = 256;
const DESCRIPTORS_PER_SANDBOX = 8;
const DESCRIPTORS_MIN = 4_096;
const PORTS_MIN = 50;
const PORTS_LOW = 1_000;
/** Files of sandboxes lie in memory: on disk there are only the engine's own records of each. */
export const DISK_FREE_MB_MIN = 512;
const DISK_FREE_MB_LOW = 2_048;
const DISK_MB_PER_SANDBOX = 16;
const DISK_INODES_MIN = 10_000;

const open = (check: Check): Wall => ({ check, slots: null, pids: null });
const unseen = (name: string): Wall => open(skipped(name, "it cannot be read on this machine"));
const whole = (amount: number): number => Math.max(0, Math.floor(amount));

function pidsWall({ pid_max, threads_max, pids_cgroup_max }: WallFacts): Wall {
  const known = [pid_max, threads_max, pids_cgroup_max].filter((limit) => limit !== null);
  if (known.length === 0) return unseen("kernel_pids");
  const [least, pids] = [Math.min(...known), whole(Math.min(...known) * PIDS_SHARE)];
  const seen = `${least} processes on this machine: sandboxes are promised ${pids} at most`;
  const remedy = "raise kernel.pid_max and kernel.threads-max by sysctl, or pids.max of the control group";
  const check = least < PIDS_MIN ? warning("kernel_pids", seen, remedy) : passed("kernel_pids", seen);
  return { check, slots: null, pids };
}

function keysWall({ keys_max, keys_used }: WallFacts): Wall {
  if (keys_max === null) return unseen("kernel_keys");
  const slots = whole((keys_max - KEYS_FOR_OTHERS) / KEYS_PER_SANDBOX);
  const seen = `${keys_used} of ${keys_max} keys used by the engine's user: room for ${slots} sandboxes`;
  const remedy = "raise kernel.keys.maxkeys and kernel.keys.maxbytes by sysctl";
  const check = keys_max < KEYS_MIN ? warning("kernel_keys", seen, remedy) : passed("kernel_keys", seen);
  return { check, slots, pids: null };
}

function inotifyWall({ inotify_instances_max: most }: WallFacts): Wall {
  if (most === null) return unseen("kernel_inotify");
  const seen = `${most} instances a user, and each sandbox has a user of its own`;
  if (most >= INOTIFY_MIN) return open(passed("kernel_inotify", seen));
  return open(warning("kernel_inotify", seen, "raise fs.inotify.max_user_instances by sysctl"));
}

function descriptorsWall({ descriptors_max: most }: WallFacts): Wall {
  if (most === null) return unseen("descriptors");
  const slots = whole((most - DESCRIPTORS_FOR_OTHERS) / DESCRIPTORS_PER_SANDBOX);
  const seen = `${most} open files a process: room for ${slots} sandboxes in one worker`;
  const remedy = "raise the limit of open files (`ulimit -n`, LimitNOFILE of its service)";
  const check = most < DESCRIPTORS_MIN ? warning("descriptors", seen, remedy) : passed("descriptors", seen);
  return { check, slots, pids: null };
}

function portsWall({ ports }: WallFacts): Wall {
  if (ports === null) return unseen("local_ports");
  const free = ports.last - ports.first + 1 - ports.used;
  const seen = `${free} of ${ports.last - ports.first + 1} free for connections to Redis`;
  const remedy = "widen net.ipv4.ip_local_port_range by sysctl, or find who holds so many connections (`ss -s`)";
  if (free < PORTS_MIN) return open(failing("local_ports", seen, remedy));
  return open(free < PORTS_LOW ? warning("local_ports", seen, remedy) : passed("local_ports", seen));
}

function diskWall({ disk }: WallFacts): Wall {
  if (disk === null) return open(skipped("disk_space", "the engine's folder cannot be seen from here"));
  const slots = whole((disk.free_mb - DISK_FREE_MB_MIN) / DISK_MB_PER_SANDBOX);
  const inodes = disk.inodes_free === null ? "" : `, ${disk.inodes_free} inodes`;
  const seen = `${disk.free_mb} MiB${inodes} free in the engine's folder`;
  const remedy = "free space there: `docker system df`, unused images, logs of other containers";
  const full = disk.free_mb < DISK_FREE_MB_MIN || (disk.inodes_free ?? DISK_INODES_MIN) < DISK_INODES_MIN;
  if (full) return { check: failing("disk_space", seen, remedy), slots, pids: null };
  const low = disk.free_mb < DISK_FREE_MB_LOW;
  return { check: low ? warning("disk_space", seen, remedy) : passed("disk_space", seen), slots, pids: null };
}

export function judgeWalls(facts: WallFacts): Wall[] {
  return [pidsWall, keysWall, inotifyWall, descriptorsWall, portsWall, diskWall].map((wall) => wall(facts));
}
