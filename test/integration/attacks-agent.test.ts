/** Attack catalogue, parts B and D: code that keeps process 1 busy, so that its limits and its end come late. */
import { readFileSync } from "node:fs";
import type { Sandbox } from "@holdfast/engine";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compileProgram, openTestEngine, runIn, type TestEngine } from "../support/engine-fixture.js";
import { waitFor } from "../support/wait-for.js";

let world: TestEngine;
beforeAll(async () => {
  world = await openTestEngine();
});
afterAll(() => world.close());

/** A sandbox that holds one of our C programs as ./attack. */
async function sandboxWith(program: string, resources: { cpu: number; memory_mb: number; pids_limit: number }) {
  const sandbox = await world.sandbox({ resources: { ...resources, disk_mb: 16 } });
  await sandbox.writeFile({ path: "attack", mode: 0o755, content: readFileSync(compileProgram(program)) });
  return sandbox;
}

/** A command that goes on beside others, with what it writes. */
function runBeside(sandbox: Sandbox, argv: readonly string[]) {
  const lines: string[] = [];
  const stdout = (chunk: Buffer) => void lines.push(...chunk.toString().trim().split("\n"));
  const command = sandbox.exec(
    { argv, env: {}, working_directory: "/", stdin: Buffer.alloc(0), timeout_ms: 60_000, leftovers: "keep" },
    { stdout, stderr() {}, progress() {} },
  );
  command.exited.catch(() => undefined);
  return lines;
}

describe("AT-B10: a storm of orphans", () => {
  it("does not keep process 1 from what it must end in time (E4)", async () => {
    const sandbox = await sandboxWith("orphan-storm", { cpu: 2, memory_mb: 1_536, pids_limit: 8_000 });
    const lines = runBeside(sandbox, ["/workspace/attack", "6000", "3"]);
    await waitFor(() => lines.includes("storm"), { bound_ms: 40_000, what: "the storm has begun" });

    const { exit } = await runIn(sandbox, ["sleep", "60"], { timeout_ms: 1_000 });

    expect(exit).toMatchObject({ timed_out: true, signal: "SIGKILL", tree: { survivors: 0 } });
    expect(exit.wall_ms, "ended at its limit of 1 s").toBeLessThan(4_000);
  });
});

describe("AT-B10: output that nobody can close", () => {
  it("does not hold back the end of a command", async () => {
    const sandbox = await sandboxWith("output-in-flight", { cpu: 1, memory_mb: 64, pids_limit: 32 });

    const { exit, stdout } = await runIn(sandbox, ["./attack"], { timeout_ms: 10_000 });

    expect(exit).toMatchObject({ exit_code: 0, timed_out: false, tree: { survivors: 0 } });
    expect(stdout).toBe("bye\n");
  });
});

describe("AT-D4: a command that is being started", () => {
  it("is out of reach of code that runs already, and so is process 1 behind it (O1)", async () => {
    const sandbox = await sandboxWith("start-race", { cpu: 2, memory_mb: 64, pids_limit: 32 });
    const lines = runBeside(sandbox, ["/workspace/attack"]);
    await waitFor(() => lines.length > 0, { bound_ms: 5_000, what: "the attack has begun" });

    for (let count = 0; count < 100; count += 1) {
      const { exit } = await runIn(sandbox, ["true"], { leftovers: "keep" });
      expect(exit).toMatchObject({ exit_code: 0, start_failure: null });
    }

    expect(lines).toEqual(["watching"]);
  });
});
