import type { GuestExit } from "@holdfast/guest";
import { describe, expect, it } from "vitest";
import {
  type Judge,
  judgeCpu,
  judgeDisk,
  judgeInodes,
  judgeKillTree,
  judgeMemory,
  judgeNetwork,
  judgePids,
  judgeSeccomp,
  judgeTimeLimit,
} from "./judgements.js";

const RESOURCES = { cpu: 0.5, memory_mb: 64, disk_mb: 1, pids_limit: 16 };
const ENDED: GuestExit = {
  exit_code: 0,
  signal: null,
  timed_out: false,
  start_failure: null,
  wall_ms: 1_000,
  cpu_ms: 500,
  memory_peak_bytes: null,
  oom_kills: 0,
  full_mounts: [],
  stdout_bytes: 0,
  stderr_bytes: 0,
  progress_dropped: 0,
  tree: { killed_processes: 1, survivors: 0, kill_ms: 1 },
};

function stateBy(judge: Judge, words: Record<string, number>, exit: Partial<GuestExit> = {}): string {
  const { state, remedy } = judge({ exit: { ...ENDED, ...exit }, words: new Map(Object.entries(words)) }, RESOURCES);
  expect(remedy === null).toBe(state === "ok");
  return state;
}

const MIB = 1024 * 1024;
const KILLED = { exit_code: 137, signal: "SIGKILL", oom_kills: 1 };
const REFUSED = Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`call${index}`, 1]));

describe("a limit that holds, and one that does not", () => {
  it.each<[string, Judge, Record<string, number>, Partial<GuestExit>, string]>([
    ["memory, killed by the kernel", judgeMemory, {}, KILLED, "ok"],
    ["memory, taken without an end", judgeMemory, { touched_mb: 300 }, {}, "failed"],
    ["memory, killed by somebody else", judgeMemory, {}, { ...KILLED, oom_kills: 0 }, "failed"],
    ["pids, refused within the limit", judgePids, { forked: 16, errno: 11 }, {}, "ok"],
    ["pids, refused too late", judgePids, { forked: 40, errno: 11 }, {}, "failed"],
    ["pids, never refused", judgePids, { forked: 16, errno: 0 }, {}, "failed"],
    ["pids, nothing heard", judgePids, {}, {}, "failed"],
    ["disk, full within the limit", judgeDisk, { wrote_bytes: MIB - 1, errno: 28 }, {}, "ok"],
    ["disk, full too late", judgeDisk, { wrote_bytes: MIB + 1, errno: 28 }, {}, "failed"],
    ["disk, refused for another reason", judgeDisk, { wrote_bytes: 1, errno: 30 }, {}, "failed"],
    ["inodes, used up within the limit", judgeInodes, { made_files: 250, errno: 28 }, {}, "ok"],
    ["inodes without an end", judgeInodes, { made_files: 320, errno: 0 }, {}, "failed"],
    ["cpu, half a core", judgeCpu, { wall_ms: 1_000 }, { cpu_ms: 520 }, "ok"],
    ["cpu, a whole core", judgeCpu, { wall_ms: 1_000 }, { cpu_ms: 1_000 }, "failed"],
    ["a time limit in time", judgeTimeLimit(500), {}, { timed_out: true, wall_ms: 510 }, "ok"],
    ["a time limit far too late", judgeTimeLimit(500), {}, { timed_out: true, wall_ms: 9_000 }, "failed"],
    ["no time limit", judgeTimeLimit(500), {}, {}, "failed"],
    ["an orphan that was killed", judgeKillTree, { orphans: 1 }, {}, "ok"],
    [
      "an orphan that survived",
      judgeKillTree,
      { orphans: 1 },
      { tree: { killed_processes: 1, survivors: 1, kill_ms: 1 } },
      "failed",
    ],
    ["an orphan that nobody saw", judgeKillTree, { orphans: 1 }, { tree: null }, "failed"],
    ["no network", judgeNetwork, { interfaces: 0, errno4: 101, errno6: 99 }, {}, "ok"],
    ["an interface", judgeNetwork, { interfaces: 1, errno4: 101, errno6: 99 }, {}, "failed"],
    ["a way out", judgeNetwork, { interfaces: 0, errno4: 0, errno6: 99 }, {}, "failed"],
    ["calls that are all refused", judgeSeccomp, REFUSED, {}, "ok"],
    ["a call that is let through", judgeSeccomp, { ...REFUSED, call3: 0 }, {}, "failed"],
    ["too few calls tried", judgeSeccomp, { ptrace: 1 }, {}, "failed"],
  ])("%s", (_, judge, words, exit, state) => {
    expect(stateBy(judge, words, exit)).toBe(state);
  });

  it("names the call that was let through", () => {
    const words = new Map(Object.entries({ ...REFUSED, ptrace: 0 }));

    expect(judgeSeccomp({ exit: ENDED, words }, RESOURCES).seen).toContain("ptrace");
  });
});
