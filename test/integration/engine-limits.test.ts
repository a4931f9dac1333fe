/** Limits of a sandbox, reached for real, and what the evidence says afterwards (O1). */
import { performance } from "node:perf_hooks";
import { judgeExit, type Sandbox } from "@holdfast/engine";
import type { GuestExit } from "@holdfast/guest";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { containerOf, hostPids, openTestEngine, runIn, SMALL, type TestEngine } from "../support/engine-fixture.js";

let world: TestEngine;
beforeAll(async () => {
  world = await openTestEngine();
});
afterAll(() => world.close());

function verdict(exit: GuestExit): string | null {
  const around = { resources: SMALL, timeout_seconds: 1, program: "sh", working_directory: "/workspace" };
  return judgeExit(exit, around)?.code ?? null;
}

const sh = (sandbox: Sandbox, line: string, timeout_ms = 60_000) => runIn(sandbox, ["sh", "-c", line], { timeout_ms });

describe("memory (AT-B2)", () => {
  it("over the limit is OUT_OF_MEMORY by the kernel's own count, and the sandbox outlives it", async () => {
    const sandbox = await world.sandbox();

    const { exit } = await sh(sandbox, "tail -c 400000000 /dev/zero");

    expect(exit.oom_kills).toBeGreaterThan(0);
    expect(verdict(exit)).toBe("OUT_OF_MEMORY");
    expect((await sh(sandbox, "echo alive")).stdout).toBe("alive\n");
  });

  it("a plain kill -9 is a signal and nothing else (O-02)", async () => {
    const sandbox = await world.sandbox();

    const { exit } = await sh(sandbox, "kill -9 $$");

    expect(exit).toMatchObject({ exit_code: 137, signal: "SIGKILL", oom_kills: 0 });
    expect(verdict(exit)).toBe("KILLED_BY_SIGNAL");
  });
});

describe("disk (AT-B3)", () => {
  it.each([
    ["/workspace", "head -c 30000000 /dev/zero > /workspace/f"],
    ["/tmp", "head -c 80000000 /dev/zero > /tmp/f"],
    ["/dev/shm", "head -c 80000000 /dev/zero > /dev/shm/f"],
  ])("a full %s is DISK_FULL and names the place", async (place, line) => {
    const sandbox = await world.sandbox();

    const { exit } = await sh(sandbox, line);

    expect(exit.full_mounts).toEqual([place]);
    expect(verdict(exit)).toBe("DISK_FULL");
  });

  it("the last inode is DISK_FULL too", async () => {
    const sandbox = await world.sandbox();

    const { exit } = await sh(sandbox, "i=0; while [ $i -lt 5000 ]; do : > f$i || exit 1; i=$((i+1)); done");

    expect(exit).toMatchObject({ exit_code: 1, full_mounts: ["/workspace"] });
    expect(verdict(exit)).toBe("DISK_FULL");
  });
});

describe("processes (AT-B1, O-10)", () => {
  it("a fork bomb stays within its count, ends with its command, and leaves no process on the host", async () => {
    const sandbox = await world.sandbox({ resources: { ...SMALL, pids_limit: 64 } });
    const { Id } = await containerOf(sandbox.sandbox_id);

    const { exit } = await sh(sandbox, "b() { b | b & }; b; sleep 30", 2_000);
    const left = await hostPids(Id);
    const receipt = await sandbox.destroy();

    expect(exit.tree).toMatchObject({ survivors: 0 });
    expect(left).toHaveLength(1);
    expect(receipt.proven).toBe(true);
  });
});

describe("output (AT-B6, P6)", () => {
  it("a quarter of a gigabyte passes whole while the worker's memory stays bounded", async () => {
    const sandbox = await world.sandbox();
    const before = process.memoryUsage.rss();
    let [bytes, peak] = [0, before];

    const command = sandbox.exec(
      {
        argv: ["head", "-c", "250000000", "/dev/zero"],
        env: {},
        working_directory: "/workspace",
        stdin: Buffer.alloc(0),
        timeout_ms: 100_000,
        leftovers: "kill",
      },
      {
        stdout(chunk) {
          bytes += chunk.length;
          peak = Math.max(peak, process.memoryUsage.rss());
        },
        stderr() {},
        progress() {},
      },
    );
    const exit = await command.exited;

    expect([exit.exit_code, bytes, exit.stdout_bytes]).toEqual([0, 250_000_000, 250_000_000]);
    expect(peak - before).toBeLessThan(64 * 1024 * 1024);
  }, 120_000);

  it("a reader that stops taking does not keep the sandbox from being destroyed at once", async () => {
    const sandbox = await world.sandbox();
    let taken: () => void = () => {};
    const first = new Promise<void>((resolve) => {
      taken = resolve;
    });
    const stuck = () => {
      taken();
      return new Promise<void>(() => {});
    };
    const command = sandbox.exec(
      {
        argv: ["head", "-c", "250000000", "/dev/zero"],
        env: {},
        working_directory: "/workspace",
        stdin: Buffer.alloc(0),
        timeout_ms: 100_000,
        leftovers: "kill",
      },
      { stdout: stuck, stderr() {}, progress() {} },
    );
    command.exited.catch(() => undefined);
    await first;

    const began = performance.now();
    const receipt = await sandbox.destroy();

    expect(receipt.proven).toBe(true);
    expect(performance.now() - began).toBeLessThan(3_000);
  });
});

describe("time", () => {
  it("the lifetime given at assignment ends the sandbox by itself (E4)", async () => {
    const reply = await world.engine.create(world.spec());
    if (reply.kind === "failed") throw new Error("no sandbox");
    await reply.sandbox.assign({ lifetime_ms: 1_000 });

    const end = await reply.sandbox.ended;

    expect(end).toEqual({ kind: "expired", reason: "lifetime" });
    expect(await reply.sandbox.destroy()).toMatchObject({ proven: true });
  });

  it("a permission to live that is not renewed ends it too (E4)", async () => {
    const reply = await world.engine.create(world.spec({ permission: () => 1_500 }));
    if (reply.kind === "failed") throw new Error("no sandbox");

    expect(await reply.sandbox.ended).toEqual({ kind: "expired", reason: "permission" });
    expect(await reply.sandbox.destroy()).toMatchObject({ proven: true });
  });
});
