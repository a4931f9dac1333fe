import type { SandboxEnd } from "@holdfast/engine";
import { describe, expect, test } from "vitest";
import { type EndingSources, firstEnding, type GuestExit } from "./endings.js";
import { createOrders } from "./orders.js";

const EXIT: GuestExit = {
  exit_code: 0,
  signal: null,
  timed_out: false,
  start_failure: null,
  wall_ms: 1,
  cpu_ms: 1,
  memory_peak_bytes: null,
  oom_kills: 0,
  full_mounts: [],
  stdout_bytes: 0,
  stderr_bytes: 0,
  progress_dropped: 0,
  tree: { killed_processes: 0, survivors: 0, kill_ms: 0 },
};

const never = new Promise<never>(() => {});

function sources(given: Partial<EndingSources>): EndingSources {
  return {
    exited: never,
    sandbox_ended: never,
    orders: createOrders(),
    fenced: never,
    lease: { permissionMs: () => 60_000 },
    limit_ms: 3_600_000,
    engineAnswers: async () => true,
    ...given,
  };
}

const ended = (end: SandboxEnd): Promise<SandboxEnd> => Promise.resolve(end);

describe("the race of endings", () => {
  test("an exit ends it", async () => {
    expect(await firstEnding(sources({ exited: Promise.resolve(EXIT) }))).toEqual({ kind: "exit", exit: EXIT });
  });

  test("the first order stands", async () => {
    const orders = createOrders();
    orders.give({ kind: "cancel" });
    orders.give({ kind: "shutdown" });

    expect(await firstEnding(sources({ orders }))).toEqual({ kind: "cancel" });
  });

  test("a link that breaks is judged by how the sandbox ended, never as an exit (O1)", async () => {
    const exited = Promise.reject(new Error("link lost"));
    const lost: SandboxEnd = { kind: "guest_lost", detail: "process 1 is gone", oom_killed: false };

    expect(await firstEnding(sources({ exited, sandbox_ended: ended(lost) }))).toEqual(lost);
  });

  test("a lost guest is the engine's fault where the engine does not answer", async () => {
    const lost: SandboxEnd = { kind: "guest_lost", detail: "process 1 is gone", oom_killed: null };
    const ending = await firstEnding(sources({ sandbox_ended: ended(lost), engineAnswers: async () => false }));

    expect(ending.kind).toBe("engine_lost");
  });

  test.each([
    ["lifetime", "time_limit"],
    ["permission", "lease_lost"],
    ["stdin_closed", "engine_lost"],
  ])("a sandbox that ended itself by %s is %s", async (reason, kind) => {
    const ending = await firstEnding(sources({ sandbox_ended: ended({ kind: "expired", reason }) }));

    expect(ending.kind).toBe(kind);
  });

  test("the end of the permission to live ends it (L3)", async () => {
    expect(await firstEnding(sources({ lease: { permissionMs: () => 0 } }))).toEqual({ kind: "lease_lost" });
  });

  test("a refused grant ends it without a verdict (L2)", async () => {
    expect(await firstEnding(sources({ fenced: Promise.resolve() }))).toEqual({ kind: "abandon", reason: "fenced" });
  });

  test("the worker's own limit ends what the agent did not", async () => {
    expect(await firstEnding(sources({ limit_ms: 0 }))).toEqual({ kind: "time_limit" });
  });
});
