import {
  type BootId,
  type Fence,
  type HostId,
  type OwnerToken,
  outcomeSchema,
  parseTaskRequest,
  type SandboxId,
  type TaskId,
  taskError,
  type WorkspaceId,
} from "@holdfast/contract";
import { describe, expect, test } from "vitest";
import { EXIT as ENDED } from "../../test/scripted-run.js";
import { emptyOutput } from "../output/empty-output.js";
import type { GuestExit } from "./endings.js";
import { type AttemptFacts, outcomeOf, refusedOutcome } from "./outcome-of.js";

const parsed = parseTaskRequest({ image: "python:3.12-slim", command: ["tool"], timeout_seconds: 7 });
if (parsed.kind !== "ok") throw new Error("the request of this test is not valid");

const FACTS: AttemptFacts = {
  ...emptyOutput(),
  request: parsed.request,
  grant: {
    workspace_id: "default" as WorkspaceId,
    task_id: "task_1" as TaskId,
    boot_id: "boot_1" as BootId,
    host_id: "host_1" as HostId,
    sandbox_id: "sbx_1" as SandboxId,
    owner_token: "own_1" as OwnerToken,
    attempt: 2,
    generation: 2,
    fence: "17" as Fence,
    delivery: 2,
    accepted_at_ms: 1_000,
    granted_at_ms: 1_250,
    sequence: 3,
  },
  sandbox: {
    image_digest: `sha256:${"a".repeat(64)}`,
    runtime: "runc",
    limits: { cpu: 1, memory_mb: 896, disk_mb: 256, pids_limit: 128 },
  },
  warm: false,
  ran: true,
  setup_ms: 40,
  run_ms: 90,
  total_ms: 150,
  proven_gone: false,
};

const EXIT: GuestExit = { ...ENDED, tree: { killed_processes: 1, survivors: 0, kill_ms: 2 } };

const ofExit = (exit: Partial<GuestExit>) => outcomeOf(FACTS, { kind: "exit", exit: { ...EXIT, ...exit } });

describe("outcomeOf", () => {
  test("exit code 0 and nothing else succeeds, with everything that is known (T1)", () => {
    const outcome = ofExit({});

    expect(outcomeSchema.parse(outcome)).toEqual(outcome);
    expect(outcome).toMatchObject({
      status: "SUCCEEDED",
      exit_code: 0,
      error: null,
      attempt: 2,
      generation: 2,
      isolation: "runc",
      limits: { memory_mb: 896, timeout_seconds: 7 },
      timing: { queued_ms: 250, setup_ms: 40, run_ms: 80, harvest_ms: null, total_ms: 400 },
      usage: { cpu_ms: 12, memory_peak_bytes: 4_096, killed_processes: 1, kill_ms: 2 },
      tree_receipt: { survivors: 0 },
      cleanup_pending: false,
    });
    expect(ofExit({ exit_code: 3 })).toMatchObject({ status: "FAILED", exit_code: 3, error: { code: "NONZERO_EXIT" } });
  });

  test("an exit code nobody knows stays null and is never a success (O1)", () => {
    expect(ofExit({ exit_code: null })).toMatchObject({ status: "FAILED", exit_code: null });
  });

  test("a time limit never reads as 0, even where the command ended by itself just then (O1)", () => {
    expect(ofExit({ timed_out: true, exit_code: 0 })).toMatchObject({
      status: "TIMEOUT",
      exit_code: null,
      error: { code: "TIME_LIMIT", fault: "user" },
    });
    expect(outcomeOf(FACTS, { kind: "time_limit" })).toMatchObject({
      status: "TIMEOUT",
      exit_code: null,
      error: { evidence: { timeout_seconds: 7 } },
      tree_receipt: null,
      cleanup_pending: true,
    });
  });

  test.each([
    ["COMMAND_NOT_FOUND", 127],
    ["COMMAND_NOT_EXECUTABLE", 126],
    ["WORKING_DIRECTORY_INVALID", null],
  ] as const)("a command that never started is %s with exit code %s", (code, exit_code) => {
    const outcome = ofExit({ exit_code: null, start_failure: { code, errno: "ENOENT" } });

    expect(outcome).toMatchObject({ status: "FAILED", exit_code, error: { code, fault: "user", retryable: false } });
  });

  test("a guest that code brought down is the user's fault, and memory only by the engine's evidence", () => {
    expect(outcomeOf(FACTS, { kind: "guest_lost", oom_killed: false })).toMatchObject({
      status: "FAILED",
      exit_code: null,
      error: { code: "SANDBOX_ENDED_BY_CODE", fault: "user" },
    });
    expect(outcomeOf(FACTS, { kind: "guest_lost", oom_killed: true }).error).toMatchObject({ code: "OUT_OF_MEMORY" });
  });

  test("a cancelled task is CANCELLED however its command ended meanwhile, and never shows 0 (T3)", () => {
    const reason = { kind: "cancelled", exit: EXIT, tree: EXIT.tree } as const;

    expect(outcomeOf(FACTS, reason)).toMatchObject({
      status: "CANCELLED",
      exit_code: null,
      error: { code: "CANCELLED" },
    });
    expect(outcomeOf({ ...FACTS, sandbox: null, ran: false }, { ...reason, exit: null, tree: null })).toMatchObject({
      status: "CANCELLED",
      ran: false,
      isolation: null,
    });
  });

  test("a refusal of set-up is settled as it was told, with nothing run", () => {
    const error = taskError("FILE_NOT_WRITABLE");

    expect(outcomeOf({ ...FACTS, ran: false, run_ms: null }, { kind: "refused", error })).toMatchObject({
      status: "FAILED",
      ran: false,
      error,
      timing: { run_ms: null },
    });
  });
});

test("the outcome of a request that never became a task is a valid outcome", () => {
  const name = { workspace_id: FACTS.grant.workspace_id, task_id: FACTS.grant.task_id };
  const outcome = refusedOutcome(name, "x:1", taskError("IMAGE_NOT_ALLOWED"), null);

  expect(outcomeSchema.parse(outcome)).toEqual(outcome);
  expect(outcome).toMatchObject({ status: "FAILED", ran: false, error: { fault: "policy" } });
});
