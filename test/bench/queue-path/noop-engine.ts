/**
 * An engine whose sandboxes cost nothing: each is ready at once, its command ends at once with exit code 0, and it is
 * gone as soon as it is asked for. What a task costs on it is what the fleet itself costs.
 */
import { createHash } from "node:crypto";
import { drawHostId, sandboxMemoryMb } from "@holdfast/contract";
import type { ContainerReceipt, Engine, OpenEngine, Sandbox, SandboxEnd, SandboxSpec } from "@holdfast/engine";

export const NOOP_IMAGE = "noop:1";

const DIGEST = `sha256:${createHash("sha256").update(NOOP_IMAGE).digest("hex")}`;
const FACTS = {
  engine_version: "20.10.0",
  api_version: "1.41",
  cgroup_version: 1,
  cpus: 4_096,
  memory_mb: 16_777_216,
  runtimes: ["runc"],
} as const;
const TREE = { killed_processes: 0, survivors: 0, kill_ms: 0 };
const GONE: ContainerReceipt = { proven: true, kill_ms: 0, remove_ms: 0 };
const EXIT: Awaited<ReturnType<Sandbox["exec"]>["exited"]> = {
  exit_code: 0,
  signal: null,
  timed_out: false,
  start_failure: null,
  wall_ms: 0,
  cpu_ms: 0,
  memory_peak_bytes: 0,
  oom_kills: 0,
  full_mounts: [],
  stdout_bytes: 0,
  stderr_bytes: 0,
  progress_dropped: 0,
  tree: TREE,
};

function openSandbox({ sandbox_id, resources, runtime }: SandboxSpec): Sandbox {
  let end: (how: SandboxEnd) => void = () => {};
  const ended = new Promise<SandboxEnd>((resolve) => {
    end = resolve;
  });
  const { cpu, disk_mb, pids_limit } = resources;
  return {
    sandbox_id,
    image_digest: DIGEST,
    runtime,
    limits: { cpu, memory_mb: sandboxMemoryMb(resources), disk_mb, pids_limit },
    created_ms: 0,
    assign: async () => {},
    ping: async () => {},
    writeFile: async () => ({ kind: "written" }),
    exec: () => ({ started: Promise.resolve({ pid: 2 }), exited: Promise.resolve(EXIT), signal: () => {} }),
    killTree: async () => TREE,
    ended,
    destroy: async () => {
      end({ kind: "destroyed" });
      return GONE;
    },
  };
}

export const openNoopEngine: OpenEngine = async ({ fleet_id, boot_id }): Promise<Engine> => ({
  facts: FACTS,
  host_id: drawHostId(),
  fleet_id,
  boot_id,
  images: [{ image: NOOP_IMAGE, digest: DIGEST }],
  refused_images: [],
  ping: async () => true,
  create: async (spec) => ({ kind: "ready", sandbox: openSandbox(spec) }),
  probe: async () => {},
  selfCheck: async () => [],
  walls: async () => [],
  sweep: async () => ({ seen: 0, removed: 0, failed: 0, stuck: 0, strange: [] }),
  list: async () => [],
  removeOldAgents: async () => 0,
  close: async () => {},
});
