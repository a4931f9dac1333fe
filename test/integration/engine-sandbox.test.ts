/** One sandbox on a real engine: created, verified from both sides, used, destroyed. */
import { readFileSync } from "node:fs";
import { drawSandboxId } from "@holdfast/contract";
import { judgeExit } from "@holdfast/engine";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engineAsk } from "../support/engine-call.js";
import { containerOf, hostPids, openTestEngine, runIn, SMALL, type TestEngine } from "../support/engine-fixture.js";
import { loadExtraImages } from "../support/extra-images.js";
import { waitFor } from "../support/wait-for.js";

let world: TestEngine;
beforeAll(async () => {
  world = await openTestEngine();
});
afterAll(() => world.close());

describe("a sandbox", () => {
  it("runs a command with input, environment, folder and both outputs, and is proven gone afterwards (E1)", async () => {
    const sandbox = await world.sandbox();
    const script = 'cat; echo "$GIVEN $HOME $LANG $PWD" >&2; exit 7';

    const { exit, stdout, stderr } = await runIn(sandbox, ["sh", "-c", script], {
      stdin: Buffer.from("input"),
      env: { GIVEN: "yes" },
      working_directory: "/tmp",
    });
    const receipt = await sandbox.destroy();

    expect([stdout, stderr]).toEqual(["input", "yes /workspace C.UTF-8 /tmp\n"]);
    expect(exit).toMatchObject({ exit_code: 7, signal: null, timed_out: false, oom_kills: 0, full_mounts: [] });
    expect(receipt).toMatchObject({ proven: true, kill_ms: expect.any(Number), remove_ms: expect.any(Number) });
    expect(await sandbox.ended).toEqual({ kind: "destroyed" });
    expect(await world.engine.list()).toEqual([]);
  });

  it("destroys once, however often and however many ask (O-20)", async () => {
    const sandbox = await world.sandbox();

    const receipts = await Promise.all(Array.from({ length: 5 }, () => sandbox.destroy()));

    expect(receipts.every(({ proven }) => proven)).toBe(true);
    expect(await sandbox.destroy()).toEqual(receipts[0]);
  });

  it("takes a container removed by hand as gone", async () => {
    const sandbox = await world.sandbox();
    const { Id } = await containerOf(sandbox.sandbox_id);
    await engineAsk(world.socket, "DELETE", `/containers/${Id}?force=1`);

    expect(await sandbox.destroy()).toMatchObject({ proven: true });
  });

  it("shows the limits it was verified with", async () => {
    const sandbox = await world.sandbox();

    expect(sandbox.limits).toEqual({ cpu: 1, memory_mb: 64 + 16 + 128, disk_mb: 16, pids_limit: 32 });
    expect(sandbox).toMatchObject({ runtime: "runc", image_digest: world.engine.images[0]?.digest });
  });

  it("passes the probe that makes a worker ready", async () => {
    await expect(world.engine.probe()).resolves.toBeUndefined();
    expect((await world.engine.list()).filter(({ purpose }) => purpose === "probe")).toEqual([]);
  });

  it("is listed while it lives, with its owner, purpose and age by the engine's clock", async () => {
    const sandbox = await world.sandbox();

    const found = (await world.engine.list()).filter(({ sandbox_id }) => sandbox_id === sandbox.sandbox_id);

    expect(found).toEqual([
      {
        sandbox_id: sandbox.sandbox_id,
        boot_id: world.engine.boot_id,
        purpose: "task",
        state: "running",
        age_ms: expect.any(Number),
      },
    ]);
    expect(found[0]?.age_ms).toBeLessThan(30_000);
  });
});

describe("the posture of every process, seen from the host (E3, AT-A1)", () => {
  it("no capability, no new privileges, a filter, an own uid and no other group", async () => {
    const sandbox = await world.sandbox();
    const { Id } = await containerOf(sandbox.sandbox_id);
    const running = runIn(sandbox, ["sh", "-c", "sleep 30 & sleep 30 & wait"]);
    const pids = await waitFor(async () => (await hostPids(Id)).length >= 4 && hostPids(Id), {
      bound_ms: 5_000,
      what: "four processes",
    });

    const uids = new Set<string>();
    for (const pid of pids) {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      const field = (name: string) => new RegExp(`^${name}:\\s*(.*)$`, "m").exec(status)?.[1]?.trim() ?? "";
      for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
        expect(field(set), set).toBe("0".repeat(16));
      expect([field("NoNewPrivs"), field("Seccomp")]).toEqual(["1", "2"]);
      const [uid = "", ...others] = field("Uid").split(/\s+/);
      uids.add(uid);
      expect(others).toEqual([uid, uid, uid]);
      expect(["", uid]).toContain(field("Groups"));
    }
    expect(uids.size).toBe(1);
    expect(Number([...uids][0])).toBeGreaterThanOrEqual(2 ** 20);
    await sandbox.killTree();
    await running;
  });

  it("process 1 is ended last, user code first, when memory runs out", async () => {
    const sandbox = await world.sandbox();
    const { Id, State } = await containerOf(sandbox.sandbox_id);
    const running = runIn(sandbox, ["sleep", "30"]);
    const pids = await waitFor(async () => (await hostPids(Id)).length === 2 && hostPids(Id), {
      bound_ms: 5_000,
      what: "two processes",
    });

    const score = (pid: number) => Number(readFileSync(`/proc/${pid}/oom_score_adj`, "utf8"));
    const user = pids.find((pid) => pid !== State.Pid) ?? 0;
    expect([score(State.Pid), score(user)]).toEqual([500, 1000]);
    await sandbox.killTree();
    await running;
  });
});

describe("what is refused before anything is created", () => {
  it.each([
    ["an image that nobody lists", { image: "python:3.99" }, "IMAGE_NOT_ALLOWED"],
    ["a runtime that is not there", { runtime: "kata" }, "CAPABILITY_ABSENT"],
    ["memory too small to start", { resources: { ...SMALL, memory_mb: 1 } }, "RESOURCES_TOO_SMALL"],
    ["more cores than there are", { resources: { ...SMALL, cpu: 512 } }, "RESOURCES_TOO_LARGE"],
  ])("%s", async (_, extra, code) => {
    const sandbox_id = drawSandboxId();

    const reply = await world.engine.create(world.spec({ sandbox_id, ...extra }));

    expect(reply).toMatchObject({ kind: "failed", failure: { hand_back: false, tries: 0, error: { code } } });
    expect((await world.engine.list()).filter((found) => found.sandbox_id === sandbox_id)).toEqual([]);
  });
});

describe("images", () => {
  it("with VOLUME, or absent, or pinned to another content, or lacking what they must hold, are not offered", async () => {
    await loadExtraImages(world.socket, ["volume"]);
    const other = await openTestEngine({
      images: [
        { image: "holdfast/shell:1", requires: { programs: ["sh", "no-such-program"], imports: [] } },
        { image: "holdfast-test/volume:1", optional: true },
        { image: "holdfast-test/absent:1" },
        { image: "holdfast-test/unloaded:1", optional: true },
        { image: "holdfast/empty:1", digest: `sha256:${"a".repeat(64)}` },
      ],
    });

    expect(other.engine.images).toEqual([]);
    expect(other.engine.refused_images).toEqual([
      { image: "holdfast-test/absent:1", reason: "it is not in this engine", expected: false },
      { image: "holdfast-test/unloaded:1", reason: "it is not in this engine", expected: true },
      { image: "holdfast-test/volume:1", reason: expect.stringContaining("VOLUME"), expected: false },
      { image: "holdfast/empty:1", reason: expect.stringContaining("pinned"), expected: false },
      { image: "holdfast/shell:1", reason: "it lacks program no-such-program", expected: false },
    ]);
    await other.close();
  });

  it("have their ENTRYPOINT, CMD, USER and HEALTHCHECK ignored and their ENV kept under the request's (O-19)", async () => {
    await loadExtraImages(world.socket, ["entrypoint"]);
    const other = await openTestEngine({ images: [{ image: "holdfast-test/entrypoint:1" }] });
    const sandbox = await other.sandbox({ image: "holdfast-test/entrypoint:1" });

    const { exit, stdout } = await runIn(sandbox, ["sh", "-c", 'echo "hi $FROM_IMAGE $OVER"; exit 4'], {
      env: { OVER: "request" },
    });

    expect([stdout, exit.exit_code]).toEqual(["hi image request\n", 4]);
    await other.close();
  });

  it("need no shell, nor anything else", async () => {
    const other = await openTestEngine({ images: [{ image: "holdfast/empty:1" }] });
    const sandbox = await other.sandbox({ image: "holdfast/empty:1" });

    const { exit } = await runIn(sandbox, ["sh", "-c", "true"]);

    expect(exit.start_failure).toMatchObject({ code: "COMMAND_NOT_FOUND" });
    const around = { resources: SMALL, timeout_seconds: 1, program: "sh", working_directory: "/workspace" };
    expect(judgeExit(exit, around)).toMatchObject({ code: "COMMAND_NOT_FOUND", evidence: { exit_code: 127 } });
    await other.close();
  });
});
