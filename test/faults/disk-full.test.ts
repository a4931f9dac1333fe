/** An engine whose disk is full: no new sandbox there, what runs ends as ever, and room is all it takes to heal. */
import type { TaskName } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { containersOf } from "./lab/engine.js";
import { allOf } from "./lab/history.js";
import { runAlone } from "./lab/run-alone.js";
import { accepted, grantsOf, shell, times, useFleet } from "./lab/use-fleet.js";

const FILLS = times(1, 5);

describe("an engine without room on its disk", () => {
  const fleet = useFleet({ engines: 2, workers: 2, engine: { data_mb: 96 } });

  async function several(count: number): Promise<TaskName[]> {
    return Promise.all(Array.from({ length: count }, () => accepted(fleet(), shell("echo out", { attempts_max: 1 }))));
  }

  it(`${FILLS} times: its tasks end and are cleared away, new ones run elsewhere at no cost, and it serves again when there is room (C2, E1, T1, T2)`, {
    timeout: FILLS * 150_000,
  }, async () => {
    for (let n = 0; n < FILLS; n += 1) {
      const [kept] = await runAlone(fleet(), fleet().worker(0), [shell("sleep 5; echo done")]);
      if (kept === undefined) throw new Error("no task");
      const free = fleet().engine(0).fill();
      const full_at = performance.now();
      const tasks = await several(6);
      const outcomes = await Promise.all([kept, ...tasks].map((task) => fleet().producer.outcome(task, 40_000)));
      const failed = allOf(fleet().history.records, "engine_call").filter(
        ({ actor, sent_ms, status }) => actor === "w1" && sent_ms > full_at && status === "500",
      );
      const clean = async () =>
        (await fleet().producer.client.sandboxes()).length === 0 &&
        (await containersOf(fleet().engine(0).socket)).length === 0;
      await waitFor(clean, { bound_ms: 30_000, what: "all is cleared away on the full disk", look_ms: 100 });
      free();
      const healthy = async () => (await fleet().producer.client.hosts()).every((host) => host.engine_healthy);
      await waitFor(healthy, { bound_ms: 60_000, what: "the engine serves again", look_ms: 100 });
      const [again] = await runAlone(fleet(), fleet().worker(0), [shell("echo again")]);
      if (again === undefined) throw new Error("no task");

      expect(outcomes.map(({ status, stdout }) => [status, stdout.text])).toEqual([
        ["SUCCEEDED", "done\n"],
        ...tasks.map(() => ["SUCCEEDED", "out\n"]),
      ]);
      expect(grantsOf(fleet(), kept)).toBe(1);
      expect(failed.length).toBeGreaterThan(0);
      expect((await fleet().producer.outcome(again, 20_000)).status).toBe("SUCCEEDED");
    }
  });

  it("leaves nothing behind and no rule broken (C1, L1, L2, E2, E3, V1, Q1)", { timeout: 200_000 }, async () => {
    await fleet().finish({ bound_ms: 120_000 });
  });
});
