/** Workers killed at every crash point, paused past their lease, or killed again and again by one task. */
import type { TaskName } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { allOf } from "./lab/history.js";
import { holdAt, PHASES } from "./lab/phases.js";
import { holdReply } from "./lab/proxy.js";
import { keyOf } from "./lab/recorded-client.js";
import { accepted, grantsOf, running, shell, times, useFleet } from "./lab/use-fleet.js";
import type { LabWorker } from "./lab/worker.js";

const REGRANT_WITHIN_MS = 20_000;
const GONE_WITHIN_MS = 5_000;
const SHORT = new Set([
  "after admit",
  "after create",
  "after start",
  "after activate",
  "before settle",
  "after settle",
]);
const POINTS = PHASES.filter(([name]) => times(SHORT.has(name), true));
const TRIES = times(1, 3);
const PAUSES = 40;
/** In short runs partition.test.ts pauses one, with its writes on the way. */
const PAUSED = times<number[]>([], [PAUSES]);
const PAUSE_MS = 24_000;

describe("a worker that dies", () => {
  const fleet = useFleet({ engines: 2, workers: 3, slots: 8 });

  function holderOf(task: TaskName): LabWorker {
    const grant = allOf(fleet().history.records, "grant").findLast((one) => one.task === keyOf(task));
    const worker = fleet().workers.find(({ name }) => name === grant?.actor);
    if (worker === undefined) throw new Error(`${task.task_id} was granted to nobody`);
    return worker;
  }

  /** From `since` until the task was granted again. */
  async function regrant(task: TaskName, since: number): Promise<number> {
    const next = () =>
      allOf(fleet().history.records, "grant").find((one) => one.task === keyOf(task) && one.at_ms > since);
    const { at_ms } = await waitFor(next, {
      bound_ms: REGRANT_WITHIN_MS + 5_000,
      what: `${task.task_id} is granted again`,
    });
    return at_ms - since;
  }

  async function noContainerOf(boots: readonly string[], bound_ms: number): Promise<void> {
    const gone = async () => {
      await fleet().look();
      const looks = allOf(fleet().history.records, "containers").slice(-fleet().engines.length);
      return looks.every(({ seen }) => seen.every(({ boot, state }) => !boots.includes(boot) || state !== "running"));
    };
    await waitFor(gone, { bound_ms, what: "no sandbox of the dead boot runs", look_ms: 50 });
  }

  it("while its tasks run: none of its processes is left, its tasks run elsewhere, each ends once (C2, E4, L4, T1, T2)", {
    timeout: 120_000,
  }, async () => {
    const script = shell("echo begun; sleep 6; echo done");
    const tasks = await Promise.all(Array.from({ length: 8 }, () => accepted(fleet(), script)));
    await Promise.all(tasks.map((task) => running(fleet(), task)));
    const [first] = tasks;
    if (first === undefined) throw new Error("no task");
    const victim = holderOf(first);
    const its = tasks.filter((task) => holderOf(task) === victim);
    const boots = victim.boots();

    await victim.kill();
    const killed_at = performance.now();
    await noContainerOf(boots, GONE_WITHIN_MS);
    const took = await Promise.all(its.map((task) => regrant(task, killed_at)));
    const outcomes = await Promise.all(tasks.map((task) => fleet().producer.outcome(task, 60_000)));

    expect(Math.max(...took)).toBeLessThan(REGRANT_WITHIN_MS);
    expect(outcomes.map(({ status, stdout }) => [status, stdout.text])).toEqual(
      tasks.map(() => ["SUCCEEDED", "begun\ndone\n"]),
    );
    expect(tasks.map((task) => grantsOf(fleet(), task))).toEqual(tasks.map((task) => (its.includes(task) ? 2 : 1)));
    await victim.start();
  });

  it(`at ${POINTS.length} crash points: every task ends once (C1, C2, E1, L2, T1, T2)`, {
    timeout: POINTS.length * TRIES * 60_000,
  }, async () => {
    const [victim, ...others] = fleet().workers;
    if (victim === undefined) throw new Error("no worker");
    for (let n = 0; n < TRIES; n += 1) {
      const tasks: TaskName[] = [];
      for (const worker of others) await worker.stop();
      for (const [, phase] of POINTS) {
        const rule = holdAt(victim, phase);
        tasks.push(await accepted(fleet(), shell("echo once", { attempts_max: 10 })));
        await rule.reached(20_000);
        await victim.kill();
        rule.remove();
        rule.release();
        await victim.start();
      }
      for (const worker of others) worker.resume();

      for (const task of tasks) {
        const { status, stdout } = await fleet().producer.outcome(task, 90_000);
        expect([status, stdout.text]).toEqual(["SUCCEEDED", "once\n"]);
      }
    }
  });

  it.each(PAUSED)(
    "that was only paused past its lease, %i times, writes no stale byte and ends what it had (E4, L2, L3, T1)",
    {
      timeout: PAUSES * 120_000,
    },
    async () => {
      for (let n = 0; n < PAUSES; n += 1) {
        const task = await accepted(
          fleet(),
          shell('i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo "line $i"; sleep 0.1; done'),
        );
        await running(fleet(), task);
        const victim = holderOf(task);
        const before = victim.boots();
        await victim.stop();
        const stopped_at = performance.now();
        await regrant(task, stopped_at);
        await waitFor(() => performance.now() - stopped_at > PAUSE_MS, {
          bound_ms: PAUSE_MS + 5_000,
          what: "the pause",
        });
        victim.resume();
        await noContainerOf(before, GONE_WITHIN_MS);
        const { status, stdout, attempt } = await fleet().producer.outcome(task, 60_000);
        const again = () => victim.boots().length > before.length;
        await waitFor(again, { bound_ms: 30_000, what: "the worker goes on under a new boot" });

        const lines = Array.from({ length: 60 }, (_, line) => `line ${line + 1}\n`).join("");
        expect([status, stdout.text, attempt]).toEqual(["SUCCEEDED", lines, 2]);
      }
    },
  );

  it("by one task, each time it begins: the task ends as ATTEMPTS_EXHAUSTED, others go on (T1, T2)", {
    timeout: 240_000,
  }, async () => {
    const attempts = times(1, 3);
    const task_id = `poison_${fleet().history.nextCall()}`;
    const rules = fleet().workers.map((worker) => {
      const where = ({ args }: { args: readonly string[] }) => args.includes(task_id);
      return { worker, rule: worker.redis.on({ script: "task-activate", where, every: true }, holdReply()) };
    });
    const task = await accepted(fleet(), shell("sleep 30", { task_id, attempts_max: attempts }));
    for (let n = 1; n <= attempts; n += 1) {
      const hit = () => rules.find(({ rule }) => rule.hits.length > 0 && rule.hits.at(-1)?.args.includes(task_id));
      const { worker, rule } = await waitFor(hit, { bound_ms: 40_000, what: `attempt ${n} begins` });
      await worker.kill();
      rule.hits.length = 0;
      await worker.start();
    }

    const outcome = await fleet().producer.outcome(task, 60_000);
    for (const { rule } of rules) rule.remove();
    expect([outcome.status, outcome.error?.code, grantsOf(fleet(), task)]).toEqual([
      "FAILED",
      "ATTEMPTS_EXHAUSTED",
      attempts,
    ]);
    const next = await accepted(fleet(), shell("echo well"));
    expect((await fleet().producer.outcome(next, 30_000)).status).toBe("SUCCEEDED");
  });

  it("leaves nothing behind and no rule broken (C1, L1, E2, E3, V1, Q1)", { timeout: 200_000 }, async () => {
    await fleet().finish({ bound_ms: 120_000 });
  });
});
