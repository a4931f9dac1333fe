/** One attempt against a sandbox, an engine and a task store that do what a test says and note what they were asked. */
import { createMetrics, silentLogger } from "@holdfast/chassis";
import {
  type BootId,
  type Fence,
  type HostId,
  type Outcome,
  type OwnerToken,
  parseTaskRequest,
  type SandboxId,
  type TaskId,
  taskError,
  type WorkspaceId,
} from "@holdfast/contract";
import type { CreateReply, Sandbox, SandboxEnd, SandboxSpec } from "@holdfast/engine";
import type { Grant } from "@holdfast/ledger";
import { createLease, type Lease } from "../src/boot/lease.js";
import type { GuestExit } from "../src/run/endings.js";
import { createOrders } from "../src/run/orders.js";
import { startTaskRun, type TaskRunDeps } from "../src/run/task-run.js";
import { createWorkerMetrics } from "../src/worker-metrics.js";

const parsed = parseTaskRequest({
  image: "python:3.12-slim",
  command: ["tool"],
  files: [{ path: "a", content: "x" }],
});
if (parsed.kind !== "ok") throw new Error("the request of this test is not valid");
const { request } = parsed;

const GRANT: Grant = {
  workspace_id: "default" as WorkspaceId,
  task_id: "task_1" as TaskId,
  boot_id: "boot_1" as BootId,
  host_id: "host_1" as HostId,
  sandbox_id: "sbx_1" as SandboxId,
  owner_token: "own_1" as OwnerToken,
  attempt: 1,
  generation: 1,
  fence: "17" as Fence,
  delivery: 1,
  accepted_at_ms: 1_000,
  granted_at_ms: 1_250,
  sequence: 1,
};

export const EXIT: GuestExit = {
  exit_code: 0,
  signal: null,
  timed_out: false,
  start_failure: null,
  wall_ms: 80,
  cpu_ms: 12,
  memory_peak_bytes: 4_096,
  oom_kills: 0,
  full_mounts: [],
  stdout_bytes: 0,
  stderr_bytes: 0,
  progress_dropped: 0,
  tree: { killed_processes: 0, survivors: 0, kill_ms: 2 },
};

function open<T>() {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((give) => {
    resolve = give;
  });
  return { promise, resolve };
}

interface Given {
  readonly reply?: "failed" | "hand_back";
  /** A sandbox waits in the pool. */
  readonly warm?: boolean;
  /** The creation waits until the test lets it go on. */
  readonly slow?: boolean;
  /** How long the lease lets a sandbox live that is not heard from any more; it is asked once, at creation. */
  readonly permission_ms?: number;
  /** Calls the ledger refuses. */
  readonly fenced?: readonly string[];
}

/** What happens when, as the test decides it. */
const steps = () => ({
  created: open<void>(),
  running: open<void>(),
  exited: open<GuestExit>(),
  ended: open<SandboxEnd>(),
  gone: open<void>(),
});

function sandboxOf({ running, exited, ended, gone }: ReturnType<typeof steps>, asked: string[]): Sandbox {
  return {
    sandbox_id: GRANT.sandbox_id,
    image_digest: "sha256:1",
    runtime: "runc",
    limits: { cpu: 1, memory_mb: 896, disk_mb: 256, pids_limit: 128 },
    created_ms: 5,
    assign: async () => void asked.push("assign"),
    ping: async () => {},
    writeFile: async () => {
      asked.push("writeFile");
      return { kind: "written" };
    },
    exec: () => {
      asked.push("exec");
      running.resolve();
      return { started: Promise.resolve({ pid: 2 }), exited: exited.promise, signal: () => {} };
    },
    killTree: async () => {
      asked.push("killTree");
      return { killed_processes: 1, survivors: 0, kill_ms: 1 };
    },
    ended: ended.promise,
    destroy: async () => {
      asked.push("destroy");
      ended.resolve({ kind: "destroyed" });
      await gone.promise;
      return { proven: true, kill_ms: 1, remove_ms: 1 };
    },
  };
}

function tasksOf(given: Given, asked: string[], outcomes: Outcome[], served: SandboxId[]): TaskRunDeps["tasks"] {
  const refuses = (call: string): boolean => {
    asked.push(call);
    return given.fenced?.includes(call) ?? false;
  };
  return {
    activate: async (_: Grant, sandbox_id: SandboxId) => {
      served.push(sandbox_id);
      return refuses("activate") ? { kind: "fenced" } : { kind: "active", sequence: 2 };
    },
    append: async () => ({ kind: "appended", sequence: 3 }),
    settle: async (_: Grant, outcome: Outcome) => {
      if (refuses("settle")) return { kind: "fenced" };
      outcomes.push(outcome);
      return { kind: "settled", promotions: [{ ...GRANT, queue: "tasks", job_id: "other" }] };
    },
    requeue: async (_: Grant, reason: string, counted: boolean) => {
      asked.push(`requeue ${reason} ${counted ? "counted" : "uncounted"}`);
      return { kind: "requeued", delivery: { ...GRANT, delivery: 2, queue: "tasks", job_id: "j" }, promotions: [] };
    },
    release: async () => {
      asked.push("release");
      return { kind: "released", promotions: [], requeued: null };
    },
  } as unknown as TaskRunDeps["tasks"];
}

const LEASE_MS = 8_000;

/** Renewed once; the permission it gives from then on is what a test asks for. */
function leaseOf({ permission_ms }: Given): Lease {
  const lease = createLease(permission_ms === undefined ? {} : { outage_grace_ms: permission_ms - LEASE_MS });
  lease.renewed(lease.now(), LEASE_MS);
  return lease;
}

export function setup(given: Given = {}) {
  const asked: string[] = [];
  const outcomes: Outcome[] = [];
  const served: SandboxId[] = [];
  const fates: string[] = [];
  const step = steps();
  const orders = createOrders();
  const lease = leaseOf(given);
  const beat = (): void => lease.renewed(lease.now(), LEASE_MS);
  if (given.slow !== true) step.created.resolve();
  const sandbox = sandboxOf(step, asked);
  const create = async (spec: SandboxSpec): Promise<CreateReply> => {
    asked.push("create");
    if (given.permission_ms !== undefined) spec.permission();
    await step.created.promise;
    if (given.reply === undefined) return { kind: "ready", sandbox };
    const error = taskError(given.reply === "failed" ? "RESOURCES_TOO_SMALL" : "ENGINE_UNAVAILABLE");
    const failure = { error, hand_back: given.reply === "hand_back", tries: 3, cleanup: sandbox.destroy() };
    return { kind: "failed", failure };
  };
  const registry = createMetrics();
  const deps: TaskRunDeps = {
    tasks: tasksOf(given, asked, outcomes, served),
    lease,
    metrics: createWorkerMetrics(registry),
    pokeBeat: beat,
    doubtEngine: () => void asked.push("doubt"),
    sandboxEnded: (fate) => void fates.push(fate),
    logger: silentLogger(),
    queue: { deliver: async () => void asked.push("deliver"), promote: async (promotions) => promotions.length },
    claimWarm: async (_, permission) => {
      if (given.warm !== true) return null;
      asked.push("claim");
      if (given.permission_ms !== undefined) permission.ask();
      return { ...sandbox, sandbox_id: "sbx_warm" as SandboxId };
    },
    engine: { create, ping: async () => true },
    given_up: new AbortController().signal,
  };
  const run = startTaskRun(deps, { grant: GRANT, request, orders, granted_at_ms: performance.now() });
  return { ...step, asked, fates, lease, orders, outcomes, registry, run, served };
}
