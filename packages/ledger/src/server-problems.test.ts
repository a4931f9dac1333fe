import { describe, expect, it } from "vitest";
import { problemsOf, tailOf } from "./server-problems.js";

const info = (version: string, policy: string, aof: string): string =>
  `# Server\r\nredis_version:${version}\r\n# Memory\r\nmaxmemory_policy:${policy}\r\n# Persistence\r\naof_enabled:${aof}\r\n`;

describe("server problems", () => {
  it.each(["7.0.15", "7.2.4", "8.0.0", "10.1.0"])("Redis %s with AOF and noeviction is accepted", (version) => {
    expect(problemsOf(info(version, "noeviction", "1"))).toEqual([]);
  });

  it.each(["6.2.14", "2.8.0", ""])("Redis %j is too old, and no setting accepts it", (version) => {
    expect(problemsOf(info(version, "noeviction", "1"))).toMatchObject([{ problem: "version", setting: null }]);
  });

  it("names the setting that accepts eviction, and the one that accepts no AOF", () => {
    const problems = problemsOf(info("7.0.0", "volatile-ttl", "0"));

    expect(problems.map(({ setting }) => setting)).toEqual(["HOLDFAST_ALLOW_EVICTION", "HOLDFAST_ALLOW_NO_AOF"]);
    for (const { message, setting } of problems) expect(message).toContain(`${setting}=1`);
  });

  it("takes a server that tells nothing for one that keeps nothing", () => {
    expect(problemsOf("").map(({ problem }) => problem)).toEqual(["version", "policy", "aof"]);
  });
});

describe("what a crash of Redis may lose", () => {
  it.each([
    [["appendfsync", "always"], "kept"],
    [["appendfsync", "everysec"], "may_be_lost"],
    [["appendfsync", "no"], "may_be_lost"],
    [[], "unknown"],
    [null, "unknown"],
  ])("CONFIG answers %j: %s", (reply, told) => {
    expect(tailOf(reply)).toBe(told);
  });
});
