import { describe, expect, it } from "vitest";
import type { EngineFailure } from "../engine-failure.js";
import { reader } from "../json-reader.js";
import { failedNames } from "./check.js";
import { judgeInfo, judgeSilence } from "./engine-look.js";

const detail = "what the engine said";
const unreachable = (errno: string): EngineFailure => ({ kind: "unreachable", detail, errno });

describe("an engine that cannot be asked", () => {
  const causes: [string, EngineFailure, RegExp][] = [
    ["absent", unreachable("ENOENT"), /there is no socket/],
    ["down", unreachable("ECONNREFUSED"), /nobody answers/],
    ["not permitted", unreachable("EACCES"), /may not be opened by this user/],
    ["silent", { kind: "deadline", detail }, /no answer in/],
    ["broken off", { kind: "dropped", detail }, /breaks off/],
    ["no engine at all", { kind: "unexpected", detail }, /not as an engine/],
    ["broken", { kind: "fault", detail }, /not as an engine/],
  ];

  it.each(causes)("that is %s is told by what was seen, and has a remedy", (_, failure, seen) => {
    const check = judgeSilence(failure, "/run/x.sock");

    expect(check).toMatchObject({ name: "engine", state: "failed" });
    expect(check.seen).toMatch(seen);
    expect(check.remedy).not.toBeNull();
  });

  it("has a remedy of its own for each cause that an operator mends differently", () => {
    const remedies = causes.slice(0, 4).map(([, failure]) => judgeSilence(failure, "/run/x.sock").remedy);

    expect(new Set(remedies).size).toBe(4);
  });
});

const GOOD = {
  ...{ ServerVersion: "20.10.24", OSType: "linux", NCPU: 2, MemTotal: 2 ** 33, CgroupVersion: "1" },
  ...{ MemoryLimit: true, SwapLimit: true, PidsLimit: true, CpuCfsQuota: true },
  ...{ SecurityOptions: ["name=seccomp,profile=default"], Driver: "overlay2", DockerRootDir: "/data" },
  Runtimes: { runc: {}, "io.containerd.runc.v2": {} },
};

describe("what an engine says of itself", () => {
  const judged = (change: object) => judgeInfo(reader({ ...GOOD, ...change }), "1.41");

  it("is accepted where it can hold a sandbox to its limits", () => {
    expect(failedNames(judged({}))).toEqual([]);
  });

  it.each([
    ["cannot limit memory", { MemoryLimit: false }, "cgroup_limits"],
    ["does not say that it limits processes", { PidsLimit: undefined }, "cgroup_limits"],
    ["applies no seccomp profiles", { SecurityOptions: [] }, "engine_seccomp"],
    ["has no storage driver", { Driver: "" }, "storage"],
    ["knows shims only, and no runtime", { Runtimes: { "io.containerd.runc.v2": {} } }, "runtime"],
    ["is older than 20.10", { ServerVersion: "19.03.15" }, "engine_version"],
    ["is not on Linux", { OSType: "windows" }, "engine_version"],
  ])("fails where it %s", (_, change, name) => {
    expect(failedNames(judged(change))).toEqual([name]);
  });

  it.each(["20.10.0", "23.0.1", "29.5.1"])("version %s will do", (ServerVersion) => {
    expect(failedNames(judged({ ServerVersion }))).toEqual([]);
  });

  it("warns of storage that copies the image into each sandbox", () => {
    expect(judged({ Driver: "vfs" }).find(({ name }) => name === "storage")?.state).toBe("warning");
  });
});
