/**
 * Builds what the engine is asked for: the one place where a container's posture is written down (design.md §7).
 * Pure. The validator in posture.ts holds the live container to the same object (E3).
 */
import { PIDS_OVERHEAD, type Resources, sandboxMemoryMb } from "@holdfast/contract";
import { type ContainerIdentity, labelsOf } from "./container-name.js";
import { sandboxEnvironment } from "./default-environment.js";

const MIB = 1024 * 1024;
const PAGE_BYTES = 4096;
const SCRATCH_MB = 64;

export const AGENT_DIRECTORY = "/.holdfast";
export const NOFILE_MAX = 4096;
/**
 * Of core files. Where a host pipes its cores to a program, the kernel starts that program, as root and outside of
 * every sandbox, for each crash whatever the limit, 0 among them, but for this one. Below a page, it writes no file.
 */
export const CORE_BYTES = 1;
/** Between the engine's programs and the user's (1000): under pressure the kernel ends user code first. */
const OOM_SCORE_ADJ = 500;

export const UID_MIN = 2 ** 20;
export const UID_MAX = 2 ** 30;

export interface SpecInput {
  readonly identity: ContainerIdentity;
  /** Content address of the image, never a tag. */
  readonly image_id: string;
  readonly image_environment: Readonly<Record<string, string>>;
  readonly resources: Resources;
  readonly runtime: string;
  /** Drawn with the sandbox; also its group. */
  readonly uid: number;
  readonly agent_volume: string;
  /** Program inside the agent volume and its arguments. */
  readonly agent_file: string;
  readonly agent_arguments: readonly string[];
  /** The profile as one line of JSON. */
  readonly seccomp: string;
  readonly cgroup_version: 1 | 2;
}

export interface TmpfsLimits {
  readonly size_bytes: number;
  readonly inodes: number;
}

/** The writable places, all of them, with their limits: one inode for each page, so neither runs out long before. */
export function writableMounts(resources: Resources): Readonly<Record<string, TmpfsLimits>> {
  const limits = (mb: number): TmpfsLimits => ({ size_bytes: mb * MIB, inodes: (mb * MIB) / PAGE_BYTES });
  return {
    "/workspace": limits(resources.disk_mb),
    "/tmp": limits(SCRATCH_MB),
    "/dev/shm": limits(SCRATCH_MB),
  };
}

function tmpfsOf(input: SpecInput): Record<string, string> {
  const mounts = writableMounts(input.resources);
  const limit = (target: string): string => {
    const { size_bytes, inodes } = mounts[target] ?? { size_bytes: 0, inodes: 0 };
    return `size=${size_bytes},nr_inodes=${inodes}`;
  };
  // runc gives a tmpfs the mode of the image's folder under it: only ownership makes it writable for certain.
  const owner = `uid=${input.uid},gid=${input.uid}`;
  return {
    "/workspace": `rw,exec,nosuid,nodev,${limit("/workspace")},${owner},mode=0700`,
    "/tmp": `rw,exec,nosuid,nodev,${limit("/tmp")},${owner},mode=1777`,
    "/dev/shm": `rw,noexec,nosuid,nodev,${limit("/dev/shm")},${owner},mode=1777`,
    // The engine's own message-queue mount is writable and cannot be left out: this one lies over it.
    "/dev/mqueue": `ro,noexec,nosuid,nodev,size=${PAGE_BYTES},nr_inodes=2,mode=0555`,
  };
}

function hostConfigOf(input: SpecInput) {
  const memory = sandboxMemoryMb(input.resources) * MIB;
  return {
    CapDrop: ["ALL"],
    SecurityOpt: ["no-new-privileges:true", `seccomp=${input.seccomp}`],
    Privileged: false,
    ReadonlyRootfs: true,
    Tmpfs: tmpfsOf(input),
    Mounts: [
      {
        Type: "volume",
        Source: input.agent_volume,
        Target: AGENT_DIRECTORY,
        ReadOnly: true,
        VolumeOptions: { NoCopy: true },
      },
    ],
    Memory: memory,
    MemorySwap: memory,
    // cgroup v2 has no such setting and the engine would warn, which is an error here.
    ...(input.cgroup_version === 1 ? { MemorySwappiness: 0 } : {}),
    NanoCpus: Math.round(input.resources.cpu * 1000) * 1_000_000,
    PidsLimit: input.resources.pids_limit + PIDS_OVERHEAD,
    Ulimits: [
      { Name: "nofile", Soft: NOFILE_MAX, Hard: NOFILE_MAX },
      { Name: "core", Soft: CORE_BYTES, Hard: CORE_BYTES },
    ],
    OomScoreAdj: OOM_SCORE_ADJ,
    NetworkMode: "none",
    IpcMode: "private",
    CgroupnsMode: "private",
    LogConfig: { Type: "none" },
    RestartPolicy: { Name: "no" },
    AutoRemove: false,
    Runtime: input.runtime,
  };
}

/** The body of a create call. */
export function buildContainerSpec(input: SpecInput) {
  const environment = sandboxEnvironment(input.image_environment, input.resources);
  return {
    Image: input.image_id,
    Entrypoint: [`${AGENT_DIRECTORY}/${input.agent_file}`],
    Cmd: [...input.agent_arguments],
    User: `${input.uid}:${input.uid}`,
    // Always there, whatever the image says; each command names its own.
    WorkingDir: "/",
    // Else it would be the container's id.
    Hostname: "sandbox",
    Env: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
    Labels: labelsOf(input.identity),
    Healthcheck: { Test: ["NONE"] },
    StopSignal: "SIGKILL",
    StopTimeout: 0,
    Tty: false,
    OpenStdin: true,
    // The engine closes the agent's input when the worker is gone: the dead-man switch of E4.
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    HostConfig: hostConfigOf(input),
  };
}

export type ContainerSpec = ReturnType<typeof buildContainerSpec>;
