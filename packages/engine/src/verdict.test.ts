import type { GuestExit } from "@holdfast/guest";
import { describe, expect, it } from "vitest";
import { type ExitCircumstances, judgeExit } from "./verdict.js";

const around: ExitCircumstances = {
  resources: { cpu: 1, memory_mb: 128, disk_mb: 16, pids_limit: 32 },
  timeout_seconds: 7,
  program: "tool",
  working_directory: "/workspace/a",
};

function exit(extra: Partial<GuestExit>): GuestExit {
  return {
    exit_code: 0,
    signal: null,
    timed_out: false,
    start_failure: null,
    wall_ms: 5,
    cpu_ms: 1,
    memory_peak_bytes: 1000,
    oom_kills: 0,
    full_mounts: [],
    stdout_bytes: 0,
    stderr_bytes: 0,
    progress_dropped: 0,
    tree: null,
    ...extra,
  };
}

const killed = { exit_code: 137, signal: "SIGKILL" } as const;

describe("judgeExit (O1)", () => {
  it.each([
    ["success", exit({}), {}, null],
    ["success although a child died for want of memory", exit({ oom_kills: 1 }), {}, null],
    ["success on a full disk", exit({ full_mounts: ["/workspace"] }), {}, null],
    ["an exit code", exit({ exit_code: 7 }), {}, "NONZERO_EXIT"],
    ["an own 137, which is no signal", exit({ exit_code: 137 }), { oom_killed: true }, "NONZERO_EXIT"],
    ["SIGKILL without evidence", exit(killed), { oom_killed: false }, "KILLED_BY_SIGNAL"],
    ["SIGKILL where nobody knows", exit({ ...killed, oom_kills: null }), { oom_killed: null }, "KILLED_BY_SIGNAL"],
    ["SIGKILL by the kernel's own count", exit({ ...killed, oom_kills: 1 }), {}, "OUT_OF_MEMORY"],
    ["SIGKILL by the engine's record", exit({ ...killed, oom_kills: null }), { oom_killed: true }, "OUT_OF_MEMORY"],
    ["a shell whose child the kernel killed", exit({ exit_code: 1, oom_kills: 2 }), {}, "OUT_OF_MEMORY"],
    ["a full disk", exit({ exit_code: 1, full_mounts: ["/workspace"] }), {}, "DISK_FULL"],
    ["SIGBUS on a full disk", exit({ exit_code: 135, signal: "SIGBUS", full_mounts: ["/tmp"] }), {}, "DISK_FULL"],
    ["another signal on a full disk", exit({ ...killed, full_mounts: ["/tmp"] }), {}, "KILLED_BY_SIGNAL"],
    ["the time limit", exit({ ...killed, timed_out: true, oom_kills: 1 }), {}, "TIME_LIMIT"],
    ["a status that nobody knows", exit({ exit_code: null }), {}, "SANDBOX_LOST"],
  ])("%s", (_, how, extra, code) => {
    expect(judgeExit(how, { ...around, ...extra })?.code ?? null).toBe(code);
  });

  it.each([
    ["COMMAND_NOT_FOUND", 127, "ENOENT", "tool"],
    ["COMMAND_NOT_EXECUTABLE", 126, "EACCES", "tool"],
    ["WORKING_DIRECTORY_INVALID", null, "ENOTDIR", "/workspace/a"],
  ] as const)("%s names what is at fault", (code, exit_code, errno, named) => {
    const error = judgeExit(exit({ exit_code, start_failure: { code, errno } }), around);

    expect(error).toMatchObject({ code, fault: "user", evidence: { errno } });
    expect(error?.message).toContain(named);
  });

  it("names in few words what the caller wrote at length (AT-H3)", () => {
    const long = { ...around, program: "p".repeat(131_071), working_directory: "/w".repeat(2_000) };
    for (const code of ["COMMAND_NOT_FOUND", "COMMAND_NOT_EXECUTABLE", "WORKING_DIRECTORY_INVALID"] as const) {
      const error = judgeExit(exit({ start_failure: { code, errno: "ENOENT" } }), long);
      expect(error?.message.length).toBeLessThan(400);
    }
  });

  it("names the limits it measured", () => {
    expect(judgeExit(exit({ ...killed, oom_kills: 1 }), around)?.message).toContain("272 MiB");
    expect(judgeExit(exit({ timed_out: true }), around)?.message).toContain("7 s");
  });
});
