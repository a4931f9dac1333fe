/**
 * A host in memory whose sandboxes cost nothing: commands are `run <ms>` and end when they say. What a worker's process
 * would take with it when it dies, and what it would leave for a sweep, is kept as a real engine keeps it.
 */
import { drawHostId, type HostId, sandboxMemoryMb, taskError } from "@holdfast/contract";
import type {
  ContainerReceipt,
  Engine,
  EngineOptions,
  FoundSandbox,
  OpenEngine,
  Sandbox,
  SandboxEnd,
  SandboxSpec,
  SweepFacts,
} from "@holdfast/engine";

/** What a sick host's engine is asked fails with this. */
export class EngineSilent extends Error {
  constructor() {
    super("the engine does not answer");
    this.name = "EngineSilent";
  }
}

export const HUNT_IMAGE = "hunt:1";
const DIGEST = `sha256:${"7".repeat(64)}`;
const TREE = { killed_processes: 1, survivors: 0, kill_ms: 0 };
const GONE: ContainerReceipt = { proven: true, kill_ms: 0, remove_ms: 0 };
const KEPT: ContainerReceipt = { proven: false, kill_ms: null, remove_ms: null };

type Exit = Awaited<ReturnType<Sandbox["exec"]>["exited"]>;

const EXIT: Exit = {
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

export interface HostLimits {
  readonly slots: number;
  readonly cpu: number;
  readonly memory_mb: number;
}

/** One worker's way to the host. */
export interface HostAccess {
  readonly open: OpenEngine;
  /** Its process is gone: no call of it is ever answered, and its sandboxes end for want of their link. */
  sever(): void;
}

export interface HuntHost {
  readonly host_id: HostId;
  readonly limits: HostLimits;
  /** Answers nothing while it is sick; what runs goes on. */
  sick: boolean;
  access(): HostAccess;
  /** Sandboxes that are not removed yet. */
  left(): number;
}

interface Kept {
  readonly sandbox_id: string;
  readonly boot_id: string;
  alive: boolean;
}

interface Memory {
  readonly all: Map<string, Kept>;
  readonly host: { sick: boolean };
}

function openSandbox(memory: Memory, kept: Kept, spec: SandboxSpec): Sandbox {
  const { resources } = spec;
  let end: (how: SandboxEnd) => void = () => {};
  let finish: (exit: Exit) => void = () => {};
  const ended = new Promise<SandboxEnd>((resolve) => {
    end = resolve;
  });
  return {
    sandbox_id: spec.sandbox_id,
    image_digest: DIGEST,
    runtime: spec.runtime,
    limits: {
      cpu: resources.cpu,
      memory_mb: sandboxMemoryMb(resources),
      disk_mb: resources.disk_mb,
      pids_limit: resources.pids_limit,
    },
    created_ms: 0,
    assign: async () => {},
    ping: async () => {},
    writeFile: async () => ({ kind: "written" }),
    exec: ({ argv }) => {
      const exited = new Promise<Exit>((resolve) => {
        finish = resolve;
      });
      setTimeout(() => finish(EXIT), Number(argv[1] ?? 0));
      return { started: Promise.resolve({ pid: 2 }), exited, signal: () => {} };
    },
    killTree: async () => {
      finish({ ...EXIT, exit_code: 137, signal: "SIGKILL" });
      return TREE;
    },
    ended,
    destroy: async () => {
      if (memory.host.sick) return KEPT;
      kept.alive = false;
      memory.all.delete(kept.sandbox_id);
      end({ kind: "destroyed" });
      return GONE;
    },
  };
}

function sweep({ all, host }: Memory, boot_id: string, facts: SweepFacts) {
  if (host.sick) throw new EngineSilent();
  const before = [...all.values()];
  for (const { sandbox_id, boot_id: owner } of before) {
    const mine = owner === boot_id && !facts.held.has(sandbox_id);
    if (mine || facts.dead_boots.has(owner)) all.delete(sandbox_id);
  }
  const strange = [...all.values()].filter(({ sandbox_id, alive }) => alive && !facts.held.has(sandbox_id));
  return {
    seen: before.length,
    removed: before.length - all.size,
    failed: 0,
    stuck: 0,
    strange: strange.map(({ sandbox_id }) => ({ sandbox_id: sandbox_id as SandboxSpec["sandbox_id"], pool_of: null })),
  };
}

function list({ all, host }: Memory): FoundSandbox[] {
  if (host.sick) throw new EngineSilent();
  return [...all.values()].map(({ sandbox_id, boot_id, alive }) => {
    return { sandbox_id, boot_id, purpose: "task", state: alive ? "running" : "exited", age_ms: 0 };
  });
}

function create(memory: Memory, boot_id: string, spec: SandboxSpec): Awaited<ReturnType<Engine["create"]>> {
  if (memory.host.sick) {
    const error = taskError("ENGINE_UNAVAILABLE");
    return { kind: "failed", failure: { error, hand_back: true, tries: 3, cleanup: Promise.resolve(GONE) } };
  }
  const kept = { sandbox_id: spec.sandbox_id, boot_id, alive: true };
  memory.all.set(spec.sandbox_id, kept);
  return { kind: "ready", sandbox: openSandbox(memory, kept, spec) };
}

export function createHost(limits: HostLimits): HuntHost {
  const host_id = drawHostId();
  const all = new Map<string, Kept>();
  const host: HuntHost = { host_id, limits, sick: false, access, left: () => all.size };
  const memory: Memory = { all, host };

  function access(): HostAccess {
    const boots = new Set<string>();
    let severed = false;
    const answer = async <Value>(value: () => Value): Promise<Value> =>
      severed ? new Promise<Value>(() => {}) : value();

    async function open({ fleet_id, boot_id }: EngineOptions): Promise<Engine> {
      boots.add(boot_id);
      return {
        facts: {
          engine_version: "20.10.0",
          api_version: "1.41",
          cgroup_version: 1,
          cpus: 64,
          memory_mb: 1_048_576,
          runtimes: ["runc"],
        },
        host_id,
        fleet_id,
        boot_id,
        images: [{ image: HUNT_IMAGE, digest: DIGEST }],
        refused_images: [],
        ping: () => answer(() => !host.sick),
        create: (spec) => answer(() => create(memory, boot_id, spec)),
        probe: () =>
          answer(() => {
            if (host.sick) throw new EngineSilent();
          }),
        selfCheck: () =>
          answer(() => {
            if (host.sick) throw new EngineSilent();
            return [];
          }),
        walls: async () => [],
        sweep: (facts) => answer(() => sweep(memory, boot_id, facts)),
        list: () => answer(() => list(memory)),
        removeOldAgents: async () => 0,
        close: async () => {},
      };
    }

    return {
      open,
      sever: () => {
        severed = true;
        for (const kept of all.values()) if (boots.has(kept.boot_id)) kept.alive = false;
      },
    };
  }

  return host;
}
