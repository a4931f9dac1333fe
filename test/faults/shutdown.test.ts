/** SIGTERM in every phase of a task: the worker takes nothing new, ends or hands over what it has, and exits. */
import { describe, expect, it } from "vitest";
import { PHASES as ALL_PHASES, holdAt } from "./lab/phases.js";
import { accepted, grantsOf, running, shell, times, useFleet } from "./lab/use-fleet.js";

const EXIT_WITHIN_MS = 30_000;

const SHORT = new Set(["after admit", "after activate", "before settle"]);
const PHASES = times(
  ALL_PHASES.filter(([name]) => SHORT.has(name)),
  ALL_PHASES,
);

describe("SIGTERM", () => {
  const fleet = useFleet({ workers: 1, env: { HOLDFAST_DRAIN_GRACE_SECONDS: "5" } });
  const worker = () => fleet().worker(0);

  describe.each(Array.from({ length: times(1, 3) }, (_, n) => n + 1))("try %i", () => {
    it.each(PHASES)("%s: the task ends once and the worker exits 0 (C2, T1, T2)", async (_, phase) => {
      const rule = holdAt(worker(), phase);
      const task = await accepted(fleet(), shell("echo done"));
      await rule.reached(20_000);
      const exit = worker().terminate(EXIT_WITHIN_MS);
      await worker()
        .process()
        .line(/"stopping"/, 5_000);
      rule.release();

      expect((await exit).code).toBe(0);
      await worker().start();
      const outcome = await fleet().producer.outcome(task, 60_000);
      expect([outcome.status, outcome.stdout.text]).toEqual(["SUCCEEDED", "done\n"]);
    });
  });

  it("while a task runs that ends within the grace: it takes nothing new, delivers and exits (T2)", async () => {
    const task = await accepted(fleet(), shell("sleep 2; echo done"));
    await running(fleet(), task);
    const began = performance.now();
    const exit = worker().terminate(EXIT_WITHIN_MS);
    const later = await accepted(fleet(), shell("echo later"));

    expect((await exit).code).toBe(0);
    expect(performance.now() - began).toBeLessThan(8_000);
    expect([grantsOf(fleet(), task), grantsOf(fleet(), later)]).toEqual([1, 0]);
    expect((await fleet().producer.outcome(task, 1_000)).stdout.text).toBe("done\n");
    await worker().start();
    expect((await fleet().producer.outcome(later, 30_000)).status).toBe("SUCCEEDED");
  });

  it("while a task runs beyond the grace: handed back, run again, no attempt counted (E4, T2)", async () => {
    const task = await accepted(fleet(), shell("sleep 8; echo done", { attempts_max: 1 }));
    await running(fleet(), task);

    expect((await worker().terminate(EXIT_WITHIN_MS)).code).toBe(0);
    expect(grantsOf(fleet(), task)).toBe(1);
    await worker().start();

    const outcome = await fleet().producer.outcome(task, 60_000);
    expect([outcome.status, outcome.attempt, outcome.stdout.text]).toEqual(["SUCCEEDED", 2, "done\n"]);
  });

  it("leaves nothing behind and no rule broken (C1, L1, L3, E1, E3, V1, Q1)", async () => {
    await fleet().finish();
  });
});
