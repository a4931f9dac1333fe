/** Lost requests and lost replies of what buries and recovers a dead boot, and a worker whose clock is set. */
import { rmSync } from "node:fs";
import type { TaskName } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { scratchFolder } from "../support/scratch.js";
import { waitFor } from "../support/wait-for.js";
import { createFakeClock } from "./lab/fake-clock.js";
import { PREFIX } from "./lab/fleet.js";
import { allOf } from "./lab/history.js";
import { type Action, dropReply, dropRequest } from "./lab/proxy.js";
import { runAlone } from "./lab/run-alone.js";
import { accepted, grantsOf, running, shell, times, useFleet } from "./lab/use-fleet.js";

const RECOVERY = ["boot-bury", "boot-recover", "boot-free", "boot-reroute"];
const REPLIES: readonly (readonly [string, () => Action])[] = [["reply of", dropReply]];
const LOSSES = times(REPLIES, [...REPLIES, ["request of", dropRequest]]);
const TRIES = Array.from({ length: times(1, 5) }, (_, n) => n + 1);
const whole = (script: string) => shell(script, { resources: { cpu: 2, memory_mb: 64, disk_mb: 16 } });
const half = (script: string) => shell(script, { resources: { cpu: 1, memory_mb: 64, disk_mb: 16 } });

describe("what is lost on the way to Redis in a recovery", () => {
  const fleet = useFleet({ engines: 2, workers: 2, cpu: 2 });

  /** A task whose route is the queue of the second worker's boot, which stands still and never fetches it. */
  async function routedTask(boot: string): Promise<TaskName> {
    const task = await accepted(fleet(), half("echo routed"));
    const routed = async () => (await fleet().redis.say("SCARD", `{${PREFIX}}:boot:${boot}:routes`)) === ":1";
    await waitFor(routed, { bound_ms: 6_000, what: "the task is routed to the worker that stands still" });
    return task;
  }

  describe.each(TRIES)("try %i", () => {
    it.each(LOSSES)(
      "each %s bury, recover, free and reroute: a dead boot's tasks run elsewhere, once (C2, L4, T1, T2)",
      {
        timeout: 120_000,
      },
      async (_, loss) => {
        const [survivor, victim] = [fleet().worker(0), fleet().worker(1)];
        const [lost] = await runAlone(fleet(), victim, [half("sleep 3; echo done")]);
        await victim.stop();
        const boot = victim.boots().at(-1) ?? "";
        const filling = await accepted(fleet(), whole("sleep 5"));
        await running(fleet(), filling);
        const routed = await routedTask(boot);
        await victim.kill();
        const kin = fleet().workers[2] ?? (await fleet().addWorker(1));
        const lines = [survivor.redis, kin.redis];
        const rules = RECOVERY.map((script) => {
          const where = ({ args }: { readonly args: readonly string[] }) => args.includes(boot);
          return lines.map((line) => line.on({ script, where }, loss()));
        });
        await kin.start();

        if (lost === undefined) throw new Error("no task");
        const outcomes = [];
        for (const task of [lost, filling, routed]) outcomes.push(await fleet().producer.outcome(task, 60_000));
        const allLost = () => rules.every((of) => of.some(({ hits }) => hits.length > 0));
        await waitFor(allLost, { bound_ms: 20_000, what: "each of the four was lost once" });
        const free = async () => (await fleet().producer.client.sandboxes()).length === 0;
        await waitFor(free, { bound_ms: 30_000, what: "the dead boot's capacity is free" });
        for (const rule of rules.flat()) rule.remove();
        const dead = allOf(fleet().history.records, "ledger").at(-1)?.boots[boot];

        expect(outcomes.map(({ status, attempt }) => [status, attempt])).toEqual([
          ["SUCCEEDED", 2],
          ["SUCCEEDED", 1],
          ["SUCCEEDED", 1],
        ]);
        expect([lost, filling, routed].map((task) => grantsOf(fleet(), task))).toEqual([2, 1, 1]);
        expect([undefined, "DEAD"]).toContain(dead);
        await victim.start();
        expect((await kin.terminate(30_000)).code).toBe(0);
      },
    );
  });

  it.each(times([600], [600, -600, 3_600]))(
    "a worker's clock steps by %i s: its lease may end, nothing else (L1, L3, T1)",
    {
      timeout: 90_000,
    },
    async (step) => {
      const folder = scratchFolder("worker-clock");
      const clock = createFakeClock(folder);
      const worker = fleet().worker(0);
      await worker.terminate(30_000);
      await worker.start(clock.env);
      const boots = worker.boots();
      const before = await runAlone(fleet(), worker, [half("sleep 4; echo done"), half("sleep 60")]);
      clock.set(step);
      const stepped_at = performance.now();
      const beaten = () =>
        allOf(fleet().history.records, "beat").some(
          ({ actor, sent_ms, reply }) => actor === worker.name && sent_ms > stepped_at && reply === "ok",
        );
      await waitFor(beaten, { bound_ms: 4_000, what: "its next beat is taken" });
      const [first, endless] = before;
      if (first === undefined || endless === undefined) throw new Error("no tasks");
      const kept = await fleet().producer.outcome(first, 15_000);
      const [after] = await runAlone(fleet(), worker, [half("echo after")]);
      if (after === undefined) throw new Error("no task");
      const fresh = await fleet().producer.outcome(after, 20_000);
      await fleet().producer.cancel(endless);
      const cancelled = await fleet().producer.outcome(endless, 10_000);
      await worker.terminate(30_000);
      const stopped = worker.process().lines.findLast((line) => line.includes('"stopping"')) ?? "{}";
      const told_ms = new Date((JSON.parse(stopped) as { readonly time: string }).time).getTime();

      expect(Math.abs(told_ms - Date.now() - step * 1000)).toBeLessThan(60_000);
      expect([kept, fresh, cancelled].map(({ status, attempt }) => [status, attempt])).toEqual([
        ["SUCCEEDED", 1],
        ["SUCCEEDED", 1],
        ["CANCELLED", 1],
      ]);
      expect(worker.boots()).toEqual(boots);
      await worker.terminate(30_000);
      await worker.start();
      rmSync(folder, { recursive: true, force: true });
    },
  );

  it("leaves nothing behind and no rule broken (C1, L1, L2, E1, E2, E3, V1, Q1)", { timeout: 200_000 }, async () => {
    await fleet().finish({ bound_ms: 120_000 });
  });
});
