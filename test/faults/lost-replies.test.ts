/** Requests that were applied and whose reply was lost: each script of a task's life, and each call to the engine. */
import { describe, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { dropReply, dropRequest, type FaultProxy, fail, type Selector } from "./lab/proxy.js";
import { ledgerScripts } from "./lab/script-names.js";
import { accepted, grantsOf, shell, times, useFleet } from "./lab/use-fleet.js";

const OF_PRODUCER = ["task-accept", "bull:addStandardJob", "task-outcome"];
const OF_WORKER = [
  // BullMQ gives a job whose fetch was lost back only when its lock has run out.
  ...times<string[]>([], ["bull:moveToActive"]),
  ...["task-admit", "task-activate", "task-append", "task-settle", "bull:moveToFinished"],
  ...["task-release", "boot-beat", "task-heal", "task-heads", "task-expire"],
];
/** At a worker's end and start. */
const OF_BOOT = ["boot-drain", "boot-retire", "fleet-open", "boot-register"];
const HANDED_BACK = ["task-requeue", "task-redeliver"];
const READING = [
  ...["events-read", "events-heartbeat", "host-list", "sandbox-list", "boot-look"],
  ...["task-view", "task-list", "task-status", "task-look", "limits-list"],
];
/** Of operators, of plain producers' followers, and of recovery, which has its own file. */
const ELSEWHERE = ["limits-set", "host-drain", "fleet-close", "task-follow", "task-cancel"];
/** What each pass of a duty, or an operator, says or removes anew. */
const OF_DUTIES = ["pool-slice", "records-retain", "retention-set"];
const OF_RECOVERY = ["boot-bury", "boot-recover", "boot-free", "boot-reroute"];
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

  it.each(OF_BOOT)("of %s at a worker's end or start: it ends with 0, starts, and works (L4)", async (script) => {
    const worker = fleet().worker(0);
    const rule = worker.redis.on({ script }, dropReply());
    expect((await worker.terminate(30_000)).code).toBe(0);
    await worker.start();
    await rule.reached(1_000);

    const task = await accepted(fleet(), shell("echo out"));
    expect((await fleet().producer.outcome(task, 20_000)).status).toBe("SUCCEEDED");
  });

  it("of task-requeue: the task is handed back once, and costs no attempt that counts (T2)", async () => {
    const { redis, engine } = fleet().worker(0);
    const broken = engine.on({ command: "POST", path: /\/create$/, every: true }, fail("500 trouble"));
    const rule = redis.on({ script: "task-requeue" }, dropReply());
    const task = await accepted(fleet(), shell("echo out", { attempts_max: 1 }));
    await rule.reached(30_000);
    broken.remove();

    const { status, attempt } = await fleet().producer.outcome(task, 40_000);
    expect([status, attempt]).toEqual(["SUCCEEDED", grantsOf(fleet(), task)]);
    expect(attempt).toBeGreaterThan(1);
  });

  it("of task-redeliver: a task whose job was never added gets one, and runs once (T2)", async () => {
    const rule = fleet().worker(0).redis.on({ script: "task-redeliver" }, dropReply());
    const unadded = fleet().producerLine.on({ script: "bull:addStandardJob", every: true }, dropRequest());
    const task = await accepted(fleet(), shell("echo out"));
    unadded.remove();

    expect((await fleet().producer.outcome(task, 20_000)).status).toBe("SUCCEEDED");
    expect([grantsOf(fleet(), task), rule.hits.length]).toEqual([1, 1]);
  });

  it("is tested for every script of the ledger, here or elsewhere", () => {
    const tested = [
      ...OF_PRODUCER,
      ...OF_WORKER,
      ...OF_BOOT,
      ...HANDED_BACK,
      ...ELSEWHERE,
      ...OF_DUTIES,
      ...OF_RECOVERY,
      ...READING,
    ];
    expect(ledgerScripts().filter((script) => !tested.includes(script))).toEqual([]);
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
