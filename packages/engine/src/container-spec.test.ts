import { type BootId, type FleetId, type HostId, RESOURCES_MIN, type SandboxId } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { buildContainerSpec, type SpecInput, writableMounts } from "./container-spec.js";

const input: SpecInput = {
  identity: {
    fleet_id: "fleet_1" as FleetId,
    host_id: "host_1" as HostId,
    boot_id: "boot_1" as BootId,
    sandbox_id: "sbx_1" as SandboxId,
    lifetime_seconds: 480,
    purpose: "task",
  },
  image_id: `sha256:${"1".repeat(64)}`,
  image_environment: { PATH: "/opt/bin:/bin", FROM_IMAGE: "1", LANG: "de_DE" },
  resources: { cpu: 0.5, memory_mb: 512, disk_mb: 256, pids_limit: 128 },
  runtime: "runc",
  uid: 1_234_567,
  agent_volume: "holdfast-agent-fleet_1-0123456789ab",
  agent_file: "holdfast-agent",
  agent_arguments: ["480"],
  seccomp: "{}",
  cgroup_version: 1,
};

const MIB = 1024 * 1024;

const GOLDEN = {
  Image: `sha256:${"1".repeat(64)}`,
  Entrypoint: ["/.holdfast/holdfast-agent"],
  Cmd: ["480"],
  User: "1234567:1234567",
  WorkingDir: "/",
  Hostname: "sandbox",
  Env: [
    "PATH=/opt/bin:/bin",
    "FROM_IMAGE=1",
    "LANG=C.UTF-8",
    "HOME=/workspace",
    "TMPDIR=/tmp",
    "LC_ALL=C.UTF-8",
    "PYTHONUTF8=1",
    "PYTHONUNBUFFERED=1",
    "PYTHONDONTWRITEBYTECODE=1",
    "MPLCONFIGDIR=/tmp",
    "MPLBACKEND=Agg",
    "OMP_NUM_THREADS=1",
    "OPENBLAS_NUM_THREADS=1",
    "MKL_NUM_THREADS=1",
    "NUMEXPR_NUM_THREADS=1",
    "GOMAXPROCS=1",
  ],
  Labels: {
    "holdfast.fleet": "fleet_1",
    "holdfast.host": "host_1",
    "holdfast.boot": "boot_1",
    "holdfast.sandbox": "sbx_1",
    "holdfast.lifetime_seconds": "480",
    "holdfast.purpose": "task",
  },
  Healthcheck: { Test: ["NONE"] },
  StopSignal: "SIGKILL",
  StopTimeout: 0,
  Tty: false,
  OpenStdin: true,
  StdinOnce: true,
  AttachStdin: true,
  AttachStdout: true,
  AttachStderr: true,
  HostConfig: {
    CapDrop: ["ALL"],
    SecurityOpt: ["no-new-privileges:true", "seccomp={}"],
    Privileged: false,
    ReadonlyRootfs: true,
    Tmpfs: {
      "/workspace": "rw,exec,nosuid,nodev,size=268435456,nr_inodes=65536,uid=1234567,gid=1234567,mode=0700",
      "/tmp": "rw,exec,nosuid,nodev,size=67108864,nr_inodes=16384,uid=1234567,gid=1234567,mode=1777",
      "/dev/shm": "rw,noexec,nosuid,nodev,size=67108864,nr_inodes=16384,uid=1234567,gid=1234567,mode=1777",
      "/dev/mqueue": "ro,noexec,nosuid,nodev,size=4096,nr_inodes=2,mode=0555",
    },
    Mounts: [
      {
        Type: "volume",
        Source: "holdfast-agent-fleet_1-0123456789ab",
        Target: "/.holdfast",
        ReadOnly: true,
        VolumeOptions: { NoCopy: true },
      },
    ],
    Memory: 896 * MIB,
    MemorySwap: 896 * MIB,
    MemorySwappiness: 0,
    NanoCpus: 500_000_000,
    PidsLimit: 130,
    Ulimits: [
      { Name: "nofile", Soft: 4096, Hard: 4096 },
      { Name: "core", Soft: 1, Hard: 1 },
    ],
    OomScoreAdj: 500,
    NetworkMode: "none",
    IpcMode: "private",
    CgroupnsMode: "private",
    LogConfig: { Type: "none" },
    RestartPolicy: { Name: "no" },
    AutoRemove: false,
    Runtime: "runc",
  },
};

describe("buildContainerSpec", () => {
  it("asks for exactly this container (E3)", () => {
    expect(buildContainerSpec(input)).toEqual(GOLDEN);
  });

  it("leaves swappiness out on cgroup v2, where it would be a warning and so an error", () => {
    expect(buildContainerSpec({ ...input, cgroup_version: 2 }).HostConfig).not.toHaveProperty("MemorySwappiness");
  });

  it("reserves the sum that is enforced: memory, disk and our share", () => {
    const resources = { cpu: 1, memory_mb: 100, disk_mb: 50, pids_limit: 8 };

    expect(buildContainerSpec({ ...input, resources }).HostConfig.Memory).toBe((100 + 50 + 128) * MIB);
  });

  it("keeps processors exact to a thousandth and above what engines refuse", () => {
    const nano = (cpu: number) =>
      buildContainerSpec({ ...input, resources: { ...input.resources, cpu } }).HostConfig.NanoCpus;

    expect([nano(0.1 + 0.2), nano(RESOURCES_MIN.cpu), nano(64)]).toEqual([300_000_000, 50_000_000, 64_000_000_000]);
  });

  it("sets a path only where the image has none", () => {
    const { Env } = buildContainerSpec({ ...input, image_environment: {} });

    expect(Env).toContain("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  });

  it("sizes the writable places by disk_mb, with an inode for each page", () => {
    expect(writableMounts({ ...input.resources, disk_mb: 1 })).toEqual({
      "/workspace": { size_bytes: MIB, inodes: 256 },
      "/tmp": { size_bytes: 64 * MIB, inodes: 16_384 },
      "/dev/shm": { size_bytes: 64 * MIB, inodes: 16_384 },
    });
  });
});
