/** Attack catalogue, parts B and D: code that keeps process 1 busy, so that its limits and its end come late. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compileProgram, openTestEngine, runIn, type TestEngine } from "../support/engine-fixture.js";

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

describe("AT-B10: a storm of orphans", () => {
  it("does not keep process 1 from what it must end in time (E4)", async () => {
    const sandbox = await sandboxWith("orphan-storm", { cpu: 2, memory_mb: 1_536, pids_limit: 8_000 });

    const { exit, stdout } = await runIn(sandbox, ["./attack", "6000", "3"], { timeout_ms: 4_000 });

    expect(stdout, "the storm had begun").toBe("storm\n");
    expect(exit).toMatchObject({ timed_out: true, signal: "SIGKILL", tree: { survivors: 0 } });
    expect(exit.wall_ms, "ended at its limit of 4 s").toBeLessThan(7_000);
  });
});
