import { drawSandboxId } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { refusalOf } from "./admission.js";
import type { EngineFacts, SandboxSpec } from "./engine.js";

const facts: EngineFacts = {
  engine_version: "20.10.24",
  api_version: "1.41",
  cgroup_version: 1,
  cpus: 2,
  memory_mb: 1024,
  runtimes: ["runc", "runsc"],
};

function wanted(resources: object = {}, runtime = "runc"): SandboxSpec {
  return {
    sandbox_id: drawSandboxId(),
    purpose: "task",
    image: "a:1",
    resources: { cpu: 1, memory_mb: 64, disk_mb: 16, pids_limit: 16, ...resources },
    runtime,
    lifetime_seconds: 60,
    permission: () => 0,
  };
}

describe("refusalOf", () => {
  it("lets through what fits", () => {
    expect(refusalOf(wanted(), facts, true)).toBeNull();
    expect(refusalOf(wanted({ cpu: 2, memory_mb: 880 }), facts, true)).toBeNull();
  });

  it.each([
    ["an image that is not offered", wanted(), false, "IMAGE_NOT_ALLOWED"],
    ["a runtime that is not there", wanted({}, "kata"), true, "CAPABILITY_ABSENT"],
    ["memory too small to start", wanted({ memory_mb: 2 }), true, "RESOURCES_TOO_SMALL"],
    ["more cores than there are", wanted({ cpu: 2.001 }), true, "RESOURCES_TOO_LARGE"],
    ["more memory than there is, with its disk and our share", wanted({ memory_mb: 881 }), true, "RESOURCES_TOO_LARGE"],
  ])("refuses %s as the caller's to change", (_, spec, known, code) => {
    expect(refusalOf(spec, facts, known)).toMatchObject({ code, fault: "policy", retryable: false });
  });

  it("says which runtimes there are instead", () => {
    expect(refusalOf(wanted({}, "kata"), facts, true)?.message).toContain("runc, runsc");
  });
});
