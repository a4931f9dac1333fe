/** The same delivery in the hands of several workers in the same moment, as when its job was thought to be stalled. */
import { describe, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { type LabFleet, QUEUE_PREFIX } from "./lab/fleet.js";
import { allOf } from "./lab/history.js";
import { holdRequest, type Rule } from "./lab/proxy.js";
import { keyOf } from "./lab/recorded-client.js";
import { accepted, grantsOf, shell, times, useFleet } from "./lab/use-fleet.js";

/** What BullMQ does with a job whose lock is gone: back to the queue, for whoever fetches next. */
async function stall({ redis }: LabFleet, job: string): Promise<void> {
  const key = (name: string) => `${QUEUE_PREFIX}:tasks:${name}`;
  await redis.say("LREM", key("active"), "1", job);
  await redis.say("DEL", key(`${job}:lock`));
  await redis.say("RPUSH", key("wait"), job);
  await redis.say("ZADD", key("marker"), "0", "0");
}

/** Hands the job on until so many workers are about to admit it; one may have it twice. */
async function handTo(count: number, fleet: LabFleet, rules: readonly Rule[], job: string): Promise<void> {
  const lock = `${QUEUE_PREFIX}:tasks:${job}:lock`;
  const fetched = async () => (await fleet.redis.say("EXISTS", lock)) === ":1";
  const holders = () => rules.filter(({ hits }) => hits.length > 0).length;
  const enough = () => holders() >= count;
  for (let tries = 0; tries < 100 && !enough(); tries += 1) {
    await waitFor(async () => enough() || (await fetched()), {
      bound_ms: 15_000,
      what: "the job is fetched",
      look_ms: 5,
    });
    if (!enough()) await stall(fleet, job);
  }
  await waitFor(enough, { bound_ms: 5_000, what: `${count} workers hold the delivery`, look_ms: 5 });
}

const RUNS = times(2, 250);
const timeout = RUNS * 30_000;

describe("one delivery fetched by several workers at once", () => {
  const fleet = useFleet({ workers: 4, slots: 16 });

  it.each([2, 4])("by %i is granted once and runs in one sandbox (C1, L2, T1)", { timeout }, async (count) => {
    for (let n = 0; n < RUNS; n += 1) {
      const rules = fleet().workers.map(({ redis }) => redis.on({ script: "task-admit" }, holdRequest()));
      const task = await accepted(fleet(), shell("echo once"));
      await handTo(count, fleet(), rules, `${keyOf(task)}.1`);
      for (const rule of rules) {
        rule.remove();
        rule.release();
      }
      const outcome = await fleet().producer.outcome(task, 30_000);

      const made = allOf(fleet().history.records, "grant").filter((grant) => grant.task === keyOf(task));
      const sandboxes = new Set(made.map(({ sandbox }) => sandbox));
      const created = allOf(fleet().history.records, "container_event").filter(
        ({ action, sandbox }) => action === "create" && sandboxes.has(sandbox),
      );
      expect([outcome.status, outcome.stdout.text]).toEqual(["SUCCEEDED", "once\n"]);
      expect([grantsOf(fleet(), task), sandboxes.size, created.length]).toEqual([1, 1, 1]);
    }
  });

  it("leaves nothing behind and no rule broken (C2, L1, E1, V1, Q1)", async () => {
    await fleet().finish();
  });
});
