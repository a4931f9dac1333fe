import { readWorkerConfig } from "@holdfast/worker";
import { describe, expect, it } from "vitest";
import { judgeServer } from "./redis-checks.js";

const policy = { problem: "policy", message: "Redis may evict keys", setting: "HOLDFAST_ALLOW_EVICTION" } as const;
const aof = { problem: "aof", message: "Redis keeps no append-only file", setting: "HOLDFAST_ALLOW_NO_AOF" } as const;
const version = { problem: "version", message: "Redis 6.2 is too old", setting: null } as const;

const states = (checks: ReturnType<typeof judgeServer>) => checks.map(({ name, state }) => `${name} ${state}`);

describe("the fleet's Redis", () => {
  it("passes where it loses nothing", () => {
    expect(states(judgeServer([], "kept", readWorkerConfig({})))).toEqual([
      "redis_version ok",
      "redis_policy ok",
      "redis_aof ok",
      "redis_tail ok",
    ]);
  });

  it("fails for each problem under a name of its own, with what was seen", () => {
    const checks = judgeServer([version, policy, aof], "may_be_lost", readWorkerConfig({}));

    expect(states(checks)).toEqual([
      "redis_version failed",
      "redis_policy failed",
      "redis_aof failed",
      "redis_tail warning",
    ]);
    expect(checks.map(({ seen }) => seen).slice(0, 3)).toEqual([version, policy, aof].map(({ message }) => message));
  });

  it("only warns of what a setting accepts; nothing accepts an old server", () => {
    const config = readWorkerConfig({ HOLDFAST_ALLOW_EVICTION: "true", HOLDFAST_ALLOW_NO_AOF: "true" });

    expect(states(judgeServer([version, policy, aof], "unknown", config))).toEqual([
      "redis_version failed",
      "redis_policy warning",
      "redis_aof warning",
      "redis_tail skipped",
    ]);
  });
});
