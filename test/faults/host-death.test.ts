/** Engines killed and started again under load, hosts that die whole, one that fails half of what it creates. */
import type { TaskName } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { containersOf } from "./lab/engine.js";
import { allOf } from "./lab/history.js";
import { fail } from "./lab/proxy.js";
import { keyOf } from "./lab/recorded-client.js";
import { accepted, running, shell, times, useFleet } from "./lab/use-fleet.js";

const TAKEN_OVER_WITHIN_MS = 25_000;
const ENGINE_KILLS = times(1, 20);
const HOST_DEATHS = times(1, 20);
const TASKS_BESIDE = times(8, 80);
/** A creation gives up after so many tries. */
const TRIES = 3;
/** Tries with their back-off, a hand-back, and what a busy machine takes. */
const BESIDE_MS = 15_000;

describe("a host that dies", () => {
  const fleet = useFleet({ engines: 2, workers: 2, slots: 8 });

  async function several(count: number, seconds: number): Promise<TaskName[]> {
    const script = shell(`echo begun; sleep ${seconds}; echo done`, { attempts_max: 10 });
    const tasks = await Promise.all(Array.from({ length: count }, () => accepted(fleet(), script)));
    await Promise.all(tasks.map((task) => running(fleet(), task)));
    return tasks;
  }

  async function expectAllEnd(tasks: readonly TaskName[]): Promise<void> {
    for (const task of tasks) {
      const { status, stdout } = await fleet().producer.outcome(task, 120_000);
      expect([status, stdout.text]).toEqual(["SUCCEEDED", "begun\ndone\n"]);
    }
  }

  it(`in its engine only, ${ENGINE_KILLS} times: tasks end or run again, no sandbox of before is left (C2, E1, T1, T2)`, {
    timeout: ENGINE_KILLS * 180_000,
  }, async () => {
    for (let n = 0; n < ENGINE_KILLS; n += 1) {
      const tasks = await several(6, 4);
      await fleet().engine(0).kill();
      const before = new Set(
        allOf(fleet().history.records, "containers").flatMap(({ seen }) => seen.map(({ id }) => id)),
      );
      await fleet().engine(0).restart();
      const since = performance.now();
      const clean = async () => (await containersOf(fleet().engine(0).socket)).every(({ id }) => !before.has(id));
      await waitFor(clean, { bound_ms: 60_000, what: "containers of before are gone", look_ms: 100 });

      expect(performance.now() - since).toBeLessThan(30_000);
      await expectAllEnd(tasks);
    }
  });

  it(`with its worker, ${HOST_DEATHS} times: the other host takes its tasks, and what it left is swept when it is back (C2, E1, L4, T1, T2)`, {
    timeout: HOST_DEATHS * 240_000,
  }, async () => {
    for (let n = 0; n < HOST_DEATHS; n += 1) {
      const tasks = await several(6, 4);
      const victim = fleet().worker(0);
      await victim.kill();
      await fleet().engine(0).kill();
      const dead_at = performance.now();
      const lost = new Set(victim.boots());
      const granted = allOf(fleet().history.records, "grant");
      const its = tasks.filter((task) => lost.has(granted.findLast((grant) => grant.task === keyOf(task))?.boot ?? ""));
      const again = () =>
        its.every((task) =>
          allOf(fleet().history.records, "grant").some((one) => one.task === keyOf(task) && one.at_ms > dead_at),
        );
      await waitFor(again, { bound_ms: TAKEN_OVER_WITHIN_MS + 10_000, what: "the other host takes over", look_ms: 50 });

      expect(performance.now() - dead_at).toBeLessThan(TAKEN_OVER_WITHIN_MS);
      await expectAllEnd(tasks);
      await fleet().engine(0).restart();
      await victim.start();
      const clean = async () => (await containersOf(fleet().engine(0).socket)).length === 0;
      await waitFor(clean, { bound_ms: 20_000, what: "the dead boot's containers are swept", look_ms: 100 });
    }
  });

  /** The longest of so many tasks that came at once, milliseconds. */
  async function longestOf(count: number): Promise<number> {
    const began = performance.now();
    const script = shell("echo begun; echo done", { attempts_max: 10 });
    const tasks = await Promise.all(Array.from({ length: count }, () => accepted(fleet(), script)));
    await expectAllEnd(tasks);
    return performance.now() - began;
  }

  async function engineOfFirst(state: "healthy" | "sick"): Promise<void> {
    const boot = fleet().worker(0).boots().at(-1);
    const seen = async () => {
      const hosts = await fleet().producer.client.hosts();
      const host = hosts.find(({ boots }) => boots.some((one) => one.boot_id === boot));
      return host?.engine_healthy === (state === "healthy");
    };
    await waitFor(seen, { bound_ms: 20_000, what: `the first host's engine is ${state}` });
  }

  it("in half of its creations slows no task that the other host could take (T2)", { timeout: 240_000 }, async () => {
    const line = fleet().worker(0).engine;
    await line.set({ kind: "cut" });
    await engineOfFirst("sick");
    const alone = await longestOf(TASKS_BESIDE);
    await line.heal();
    await engineOfFirst("healthy");
    let starts = 0;
    const where = () => Math.floor(starts++ / TRIES) % 2 === 0;
    const refusals = line.on({ command: "POST", path: /\/start$/, every: true, where }, fail("not this one"));

    const beside = await longestOf(TASKS_BESIDE);

    expect(refusals.hits.length).toBeGreaterThanOrEqual(TRIES);
    expect(beside).toBeLessThan(alone + BESIDE_MS);
    await line.heal();
  });

  it("leaves nothing behind and no rule broken (C1, L1, L2, E2, E3, V1, Q1)", { timeout: 200_000 }, async () => {
    await fleet().finish({ bound_ms: 120_000 });
  });
});

describe("200 tasks on three workers and two engines", () => {
  const fleet = useFleet({ engines: 2, workers: 3, slots: 8, redis: { appendfsync: "always" } });

  it("end once each though a worker, Redis and an engine die in one run (C1, C2, L1, L2, L4, E1, E2, T1, T2, V1, Q1)", {
    timeout: 900_000,
  }, async () => {
    const tasks: TaskName[] = [];
    for (let n = 0; n < 200; n += 1) {
      tasks.push(await accepted(fleet(), shell("echo begun; sleep 1; echo done")));
    }
    await fleet().worker(0).kill();
    await fleet().redis.kill();
    await fleet().redis.restart();
    await fleet().engine(1).kill();
    await fleet().engine(1).restart();
    await fleet().worker(0).start();

    for (const task of tasks) {
      expect((await fleet().producer.outcome(task, 600_000)).status).toBe("SUCCEEDED");
    }
    await fleet().finish({ bound_ms: 120_000 });
  });
});
