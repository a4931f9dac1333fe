/** Requests that were applied and whose reply was lost: each script of a task's life, and each call to the engine. */
import { describe, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { dropReply, type FaultProxy, type Selector } from "./lab/proxy.js";
import { accepted, grantsOf, shell, times, useFleet } from "./lab/use-fleet.js";

const OF_PRODUCER = ["task-accept", "bull:addStandardJob", "task-outcome"];
const OF_WORKER = [
  // BullMQ gives a job whose fetch was lost back only when its lock has run out.
  ...times<string[]>([], ["bull:moveToActive"]),
  ...["task-admit", "task-activate", "task-append", "task-settle", "bull:moveToFinished"],
  ...["task-release", "boot-beat", "task-heal", "task-heads", "task-expire"],
];
const OF_ENGINE: readonly (readonly [string, RegExp])[] = [
  ["POST", /^\/containers\/create$/],
  ["POST", /\/attach$/],
  ["POST", /\/start$/],
  ["GET", /^\/containers\/[0-9a-f]{64}\/json$/],
  ["DELETE", /^\/containers\//],
];

describe("a reply that is lost after its request was applied", () => {
  const fleet = useFleet({ workers: 1 });

  /** One task, in whose life the fault falls once. Its outcome is as if nothing had been. */
  async function oneTask(line: FaultProxy, selector: Selector): Promise<void> {
    const rule = line.on(selector, dropReply());
    const task = await accepted(fleet(), shell("echo out; exit 3"));
    const outcome = await fleet().producer.outcome(task, 40_000);
    await rule.reached(10_000);
    await waitFor(async () => (await fleet().producer.client.sandboxes()).length === 0, {
      bound_ms: 40_000,
      what: "the capacity is given back",
    });

    expect([outcome.status, outcome.exit_code, outcome.stdout.text]).toEqual(["FAILED", 3, "out\n"]);
    expect([grantsOf(fleet(), task), outcome.attempt]).toEqual([1, 1]);
  }

  describe.each(Array.from({ length: times(1, 10) }, (_, n) => n + 1))("try %i", () => {
    it.each(OF_PRODUCER)("of %s to a producer changes nothing (T1, T2)", async (script) => {
      await oneTask(fleet().producerLine, { script });
    });

    it.each(OF_WORKER)("of %s to a worker changes nothing (C2, L2, T1)", async (script) => {
      await oneTask(fleet().worker(0).redis, { script });
    });

    it.each(OF_ENGINE)("of %s %s from the engine leaves no second sandbox (E1)", async (command, path) => {
      await oneTask(fleet().worker(0).engine, { command, path });
    });
  });

  it("of a cancellation leaves the task cancelled (T3)", async () => {
    const task = await accepted(fleet(), shell("sleep 60"));
    fleet().producerLine.on({ script: "task-cancel" }, dropReply());

    const answers = [await fleet().producer.cancel(task), await fleet().producer.cancel(task)];

    expect((await fleet().producer.outcome(task, 20_000)).status).toBe("CANCELLED");
    expect(answers.every((answer) => ["cancelled", "requested", "finished", "unknown"].includes(answer))).toBe(true);
  });

  it("leaves nothing behind and no rule broken (C1, L1, L3, E3, V1, Q1)", async () => {
    await fleet().finish();
  });
});
