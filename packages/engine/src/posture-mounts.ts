/** The mount table a sandbox may have, closed: a mount of another place, kind or freedom is a deviation. */
import type { Hello, Resources } from "@holdfast/contract";
import { AGENT_DIRECTORY, writableMounts } from "./container-spec.js";

type Mount = Hello["mounts"][number];

interface MountRule {
  readonly type?: string;
  /** Options that must be there; the first of a mount is `ro` or `rw`. */
  readonly options: readonly string[];
}

const READ_ONLY: MountRule = { options: ["ro"] };

/** Places every sandbox has, with the kernel's own file systems as engines lay them out. */
const FIXED: Readonly<Record<string, MountRule>> = {
  "/": READ_ONLY,
  [AGENT_DIRECTORY]: READ_ONLY,
  "/proc": { type: "proc", options: ["nosuid", "nodev", "noexec"] },
  // Belongs to root and is closed to others by its mode.
  "/dev": { type: "tmpfs", options: ["nosuid", "mode=755"] },
  "/dev/pts": { type: "devpts", options: ["nosuid", "noexec"] },
  "/dev/mqueue": { type: "tmpfs", options: ["ro"] },
  "/sys": { type: "sysfs", options: ["ro"] },
};

/** Places an engine may add. */
const OPTIONAL: Readonly<Record<string, MountRule>> = {
  "/etc/resolv.conf": READ_ONLY,
  "/etc/hostname": READ_ONLY,
  "/etc/hosts": READ_ONLY,
};

function isReadOnly(mount: Mount): boolean {
  return mount.options.split(",")[0] === "ro";
}

function obeys(mount: Mount, rule: MountRule): boolean {
  const [access, ...options] = mount.options.split(",");
  return (
    (rule.type === undefined || mount.type === rule.type) &&
    rule.options.every((option) => (option === "ro" ? access === "ro" : options.includes(option)))
  );
}

/** Control groups and masked places: read-only, or a root-owned tmpfs, which /dev/null is a file of. */
function isEnginePlace(mount: Mount): boolean {
  const inSys = mount.target.startsWith("/sys/");
  if (!inSys && !mount.target.startsWith("/proc/")) return false;
  const closedTmpfs = mount.type === "tmpfs" && mount.options.split(",").includes("mode=755");
  return isReadOnly(mount) || closedTmpfs;
}

function writableRules(resources: Resources, uid: number): Readonly<Record<string, MountRule>> {
  const rule = (target: string, ...more: readonly string[]): MountRule => {
    const { size_bytes, inodes } = writableMounts(resources)[target] ?? { size_bytes: 0, inodes: 0 };
    return {
      type: "tmpfs",
      options: ["nosuid", "nodev", `size=${size_bytes / 1024}k`, `nr_inodes=${inodes}`, ...more],
    };
  };
  const owner = [`uid=${uid}`, `gid=${uid}`];
  return {
    "/workspace": rule("/workspace", "mode=700", ...owner),
    "/tmp": rule("/tmp", ...owner),
    "/dev/shm": rule("/dev/shm", "noexec", ...owner),
  };
}

export function mountTableDeviations(mounts: readonly Mount[], resources: Resources, uid: number): string[] {
  const required = { ...FIXED, ...writableRules(resources, uid) };
  const targets = mounts.map((mount) => mount.target);
  const missing = Object.keys(required).filter((target) => !targets.includes(target));
  const twice = targets.filter((target, index) => targets.indexOf(target) !== index);
  const wrong = mounts.filter((mount) => {
    const rule = required[mount.target] ?? OPTIONAL[mount.target];
    return rule === undefined ? !isEnginePlace(mount) : !obeys(mount, rule);
  });
  return [...missing, ...twice, ...wrong.map((mount) => mount.target)].map((target) => `mounts.${target}`);
}
