/** An engine dies and comes back while its pool is full and claimed from: each task runs in one sandbox. */
import { describe, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { containersOf } from "./lab/engine.js";
import { SHELL_IMAGE } from "./lab/image-archive.js";
import { accepted, shell, times, useFleet } from "./lab/use-fleet.js";

const ROUNDS = times(1, 20);
const TASKS = 4;
const kind = `${SHELL_IMAGE}:0.5:64`;

describe("an engine whose pool is full dies", () => {
  const fleet = useFleet({ workers: 1, env: { HOLDFAST_POOL_KEYS: `${kind},${kind}` } });

  const pool = async () =>
    (await fleet().producer.client.hosts()).flatMap(({ boots }) => boots.flatMap((boot) => boot.pool));
  async function full(): Promise<void> {
    const isFull = async () => (await pool()).reduce((sum, { ready }) => sum + ready, 0) === 2;
    await waitFor(isFull, { bound_ms: 90_000, what: "the pool is full" });
  }

  it(`${ROUNDS} times: no dead member serves, none of before is left, and the pool is full again (AT-C10, E1, T1)`, {
    timeout: ROUNDS * 240_000,
  }, async () => {
    for (let n = 0; n < ROUNDS; n += 1) {
      await full();
      const before = new Set((await containersOf(fleet().engine(0).socket)).map(({ id }) => id));
      const resources = { cpu: 0.5, memory_mb: 64 };
      const tasks = await Promise.all(
        Array.from({ length: TASKS }, () => accepted(fleet(), shell("echo done", { resources }))),
      );
      await fleet().engine(0).kill();
      await fleet().engine(0).restart();

      for (const task of tasks) {
        const { status, stdout } = await fleet().producer.outcome(task, 120_000);
        expect([status, stdout.text]).toEqual(["SUCCEEDED", "done\n"]);
      }
      const clean = async () => (await containersOf(fleet().engine(0).socket)).every(({ id }) => !before.has(id));
      await waitFor(clean, { bound_ms: 60_000, what: "containers of before are gone", look_ms: 100 });
      await full();
    }
  });
});
