import { drawBootId, drawFleetId, drawHostId, drawSandboxId } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { buildContainerSpec } from "./container-spec.js";
import { type TryInput, tryCreation } from "./creation-try.js";
import type { EngineConnection } from "./engine-connection.js";
import { type EngineReply, failed, ok } from "./engine-failure.js";

const resources = { cpu: 1, memory_mb: 64, disk_mb: 16, pids_limit: 16 };
const identity = {
  fleet_id: drawFleetId(),
  host_id: drawHostId(),
  boot_id: drawBootId(),
  sandbox_id: drawSandboxId(),
  lifetime_seconds: 60,
  purpose: "task",
} as const;

/** An engine that answers create, refuses to attach, and must be asked for nothing else. */
function setup(created: EngineReply<unknown>): { input: TryInput; asked: string[] } {
  const asked: string[] = [];
  const connection: EngineConnection = {
    async ask({ path }) {
      asked.push(path);
      if (path !== "/containers/create") throw new Error(`unexpected call of ${path}`);
      return created;
    },
    async hijack({ path }) {
      asked.push(path);
      return failed({ kind: "fault", detail: "no" });
    },
    ping: async () => true,
    apiVersion: () => "1.41",
  };
  const spec = buildContainerSpec({
    identity,
    image_id: `sha256:${"1".repeat(64)}`,
    image_environment: {},
    resources,
    runtime: "runc",
    uid: 2_000_000,
    agent_volume: "v",
    agent_file: "a",
    agent_arguments: [],
    seccomp: "{}",
    cgroup_version: 1,
  });
  const input: TryInput = {
    connection,
    open_link: () => {
      throw new Error("unexpected link");
    },
    name: "holdfast-b-s-1",
    spec,
    resources,
    uid: 2_000_000,
    agent_sha256: "0".repeat(64),
    cgroup_version: 1,
    own_namespaces: {},
    permission: () => 0,
  };
  return { input, asked };
}

describe("tryCreation", () => {
  it("takes a warning of the engine for an error, and starts nothing (E3)", async () => {
    const { input, asked } = setup(
      ok({ Id: "c1", Warnings: ["Your kernel does not support swap limit capabilities"] }),
    );

    expect(await tryCreation(input)).toMatchObject({ kind: "failed", id: "c1", failure: { kind: "warned" } });
    expect(asked).toEqual(["/containers/create"]);
  });

  it("never starts what it could not attach to: nothing would hear it, and nothing would end it", async () => {
    const { input, asked } = setup(ok({ Id: "c1", Warnings: [] }));

    expect(await tryCreation(input)).toMatchObject({ id: "c1", failure: { kind: "engine", step: "attach" } });
    expect(asked).toEqual(["/containers/create", "/containers/c1/attach"]);
  });

  it.each([
    ["no answer", failed({ kind: "deadline", detail: "" }), "deadline"],
    ["an answer without id", ok({}), "unexpected"],
  ])("tells of %s to create that a container may be there", async (_, created, kind) => {
    const { input } = setup(created);

    expect(await tryCreation(input)).toMatchObject({ id: null, failure: { step: "create", failure: { kind } } });
  });
});
