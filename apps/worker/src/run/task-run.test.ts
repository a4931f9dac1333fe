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
import type { CreateReply, Sandbox, SandboxEnd } from "@holdfast/engine";
import type { Grant } from "@holdfast/ledger";
import { describe, expect, test } from "vitest";
import { createLease } from "../boot/lease.js";
import { createWorkerMetrics } from "../worker-metrics.js";
import type { GuestExit } from "./endings.js";
import { createOrders } from "./orders.js";
import { startTaskRun, type TaskRunDeps } from "./task-run.js";

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

const EXIT: GuestExit = {
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
  /** The creation waits until the test lets it go on. */
  readonly slow?: boolean;
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

function tasksOf(given: Given, asked: string[], outcomes: Outcome[]): TaskRunDeps["tasks"] {
  const refuses = (call: string): boolean => {
    asked.push(call);
    return given.fenced?.includes(call) ?? false;
  };
  return {
    activate: async () => (refuses("activate") ? { kind: "fenced" } : { kind: "active", sequence: 2 }),
    append: async () => ({ kind: "appended", sequence: 3 }),
    settle: async (_: Grant, outcome: Outcome) => {
      if (refuses("settle")) return { kind: "fenced" };
      outcomes.push(outcome);
      return { kind: "settled", promotions: [] };
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

/** A sandbox, an engine and a task store that do what the test says and write down the order of what was asked. */
function setup(given: Given = {}) {
  const asked: string[] = [];
  const outcomes: Outcome[] = [];
  const step = steps();
  const orders = createOrders();
  const lease = createLease();
  const beat = (): void => lease.renewed(lease.now(), 8_000);
  beat();
  if (given.slow !== true) step.created.resolve();
  const sandbox = sandboxOf(step, asked);
  const create = async (): Promise<CreateReply> => {
    asked.push("create");
    await step.created.promise;
    if (given.reply === undefined) return { kind: "ready", sandbox };
    const error = taskError(given.reply === "failed" ? "RESOURCES_TOO_SMALL" : "ENGINE_UNAVAILABLE");
    const failure = { error, hand_back: given.reply === "hand_back", tries: 3, cleanup: sandbox.destroy() };
    return { kind: "failed", failure };
  };
  const deps: TaskRunDeps = {
    tasks: tasksOf(given, asked, outcomes),
    lease,
    metrics: createWorkerMetrics(createMetrics()),
    pokeBeat: beat,
    logger: silentLogger(),
    queue: { deliver: async () => void asked.push("deliver"), promote: async () => {} },
    engine: { create, ping: async () => true },
    given_up: new Promise(() => {}),
  };
  const run = startTaskRun(deps, { grant: GRANT, request, orders, granted_at_ms: performance.now() });
  return { ...step, asked, lease, orders, outcomes, run };
}

describe("one attempt", () => {
  test("is assigned, filled and recorded before the command, settled before it is destroyed, released after proof (C2, E3)", async () => {
    const { asked, exited, gone, run } = setup();
    exited.resolve(EXIT);

    expect(await run.answer).toMatchObject({ kind: "settled", outcome: { status: "SUCCEEDED" } });
    expect(asked).not.toContain("release");
    gone.resolve();

    expect(await run.released).toBe(true);
    expect(asked).toEqual(["create", "assign", "writeFile", "activate", "exec", "settle", "destroy", "release"]);
  });

  test("cancelled while its sandbox is being made: settled at once, and the sandbox cleaned up when it comes (T3, E1)", async () => {
    const { asked, created, gone, orders, run } = setup({ slow: true });
    orders.give({ kind: "cancel" });

    expect(await run.answer).toMatchObject({ outcome: { status: "CANCELLED", ran: false } });
    created.resolve();
    gone.resolve();

    expect(await run.released).toBe(true);
    expect(asked).toEqual(["create", "settle", "destroy", "release"]);
  });

  test("cancelled while it runs: the tree is killed and its receipt settled (T3)", async () => {
    const { asked, exited, gone, orders, run, running } = setup();
    await running.promise;
    orders.give({ kind: "cancel" });
    exited.resolve({ ...EXIT, exit_code: 137, signal: "SIGKILL" });
    gone.resolve();

    expect(await run.answer).toMatchObject({ outcome: { status: "CANCELLED", tree_receipt: { survivors: 0 } } });
    expect(asked.indexOf("killTree")).toBeLessThan(asked.indexOf("settle"));
  });

  test("a request that cannot start is settled with its cause and not tried again", async () => {
    const { asked, gone, run } = setup({ reply: "failed" });
    gone.resolve();

    expect(await run.answer).toMatchObject({
      outcome: { status: "FAILED", ran: false, error: { code: "RESOURCES_TOO_SMALL" } },
    });
    expect(await run.released).toBe(true);
    expect(asked).not.toContain("deliver");
  });

  test("an engine that cannot create hands the attempt back, uncounted, and the next delivery is sent", async () => {
    const { asked, gone, run } = setup({ reply: "hand_back" });
    gone.resolve();

    expect(await run.answer).toEqual({ kind: "requeued" });
    expect(asked).toContain("requeue creation_failed uncounted");
    expect(asked).toContain("deliver");
    expect(await run.released).toBe(true);
  });

  test("a lost guest is killed and proven before it is settled as the code's doing", async () => {
    const { asked, ended, gone, run, running } = setup();
    await running.promise;
    ended.resolve({ kind: "guest_lost", detail: "gone", oom_killed: false });
    gone.resolve();

    expect(await run.answer).toMatchObject({ outcome: { error: { code: "SANDBOX_ENDED_BY_CODE", fault: "user" } } });
    expect(asked.indexOf("destroy")).toBeLessThan(asked.indexOf("settle"));
  });

  test("a drain kills first and hands back after, and does not count (O-27)", async () => {
    const { asked, gone, orders, run, running } = setup();
    await running.promise;
    orders.give({ kind: "shutdown" });
    gone.resolve();

    expect(await run.answer).toEqual({ kind: "requeued" });
    expect(asked.indexOf("destroy")).toBeLessThan(asked.indexOf("requeue drain uncounted"));
  });

  test("a lost engine hands back as soon as the sandbox is proven gone", async () => {
    const { asked, ended, gone, run, running } = setup();
    await running.promise;
    ended.resolve({ kind: "engine_lost", detail: "away" });
    gone.resolve();

    expect(await run.answer).toEqual({ kind: "requeued" });
    expect(asked).toContain("requeue engine_lost uncounted");
  });

  test("a refused activation runs nothing and writes nothing, and is cleaned up (L2)", async () => {
    const { asked, gone, run } = setup({ fenced: ["activate"] });
    gone.resolve();

    expect(await run.answer).toEqual({ kind: "abandoned" });
    expect(await run.released).toBe(true);
    expect(asked).not.toContain("exec");
    expect(asked).not.toContain("settle");
  });

  test("a run that was abandoned writes no end, whatever its command did meanwhile (L2)", async () => {
    const { asked, exited, gone, orders, outcomes, run, running } = setup();
    await running.promise;
    orders.give({ kind: "abandon", reason: "unknown_to_ledger" });
    exited.resolve(EXIT);
    gone.resolve();

    expect(await run.answer).toEqual({ kind: "abandoned" });
    expect(await run.released).toBe(true);
    expect(outcomes).toEqual([]);
    expect(asked).toContain("destroy");
  });

  test("a boot that is over ends its sandbox and sends nothing more (L3)", async () => {
    const { asked, gone, lease, orders, run, running } = setup();
    await running.promise;
    lease.revoke();
    orders.give({ kind: "abandon", reason: "boot_over" });
    gone.resolve();

    expect(await run.answer).toEqual({ kind: "abandoned" });
    expect(await run.released).toBe(false);
    expect(asked).not.toContain("release");
    expect(asked).toContain("destroy");
  });
});
