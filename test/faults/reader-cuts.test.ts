/** Readers of a task's events that are cut off at any byte, resume elsewhere, or hardly read. */
import { createHash } from "node:crypto";
import type { TaskName } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { allOf } from "./lab/history.js";
import { cutReply } from "./lab/proxy.js";
import { keyOf } from "./lab/recorded-client.js";
import { accepted, shell, times, useFleet } from "./lab/use-fleet.js";

const CUTS = times(25, 1_000);
const LINES = 2_000;
/** In about fifty batches, so that there are events to cut between. */
const COUNTING = `i=0; while [ $i -lt ${LINES} ]; do i=$((i+1)); echo "line $i of many"; [ $((i % 40)) = 0 ] && sleep 0.06; done; true`;
const PRINTED = Array.from({ length: LINES }, (_, n) => `line ${n + 1} of many\n`).join("");

/** Places of the cuts, the same in every run. */
function* places(seed: number): Generator<number> {
  for (let n = seed; ; n += 1) yield createHash("sha256").update(`${n}`).digest().readUInt32LE();
}

describe("a reader of events", () => {
  const fleet = useFleet({ workers: 1 });
  const finished = (task: TaskName, reader: string) =>
    allOf(fleet().history.records, "event").filter(
      (event) => event.task === keyOf(task) && event.reader === reader && event.event === "task_finished",
    ).length;

  const seenBy = (task: TaskName, reader: string) =>
    allOf(fleet().history.records, "event").filter((event) => event.task === keyOf(task) && event.reader === reader)
      .length;

  it(`cut at ${CUTS} places, each time within a reply: reads on without hole or repeat (V1)`, {
    timeout: 600_000,
  }, async () => {
    const place = places(1);
    for (let cuts = 0; cuts < CUTS; ) {
      const task = await accepted(fleet(), shell(COUNTING));
      const reader = `cut reader ${cuts}`;
      let reading = true;
      const read = fleet()
        .producer.read(task, { reader })
        .finally(() => {
          reading = false;
        });
      while (reading) {
        const at = place.next().value ?? 0;
        const rule = fleet().producerLine.on({ nth: 1 + (at % 3) }, cutReply(at % 400));
        const before = seenBy(task, reader);
        await Promise.race([read, rule.reached(300).catch(() => fleet().producerLine.reset())]);
        rule.remove();
        cuts += 1;
        const onward = () => !reading || seenBy(task, reader) > before;
        await waitFor(onward, { bound_ms: 15_000, what: "the reader reads on" });
      }
      const outcome = await fleet().producer.outcome(task, 20_000);

      expect(finished(task, reader)).toBe(1);
      expect([outcome.stdout.text, outcome.stdout.total_bytes]).toEqual([PRINTED, PRINTED.length]);
    }
  });

  it("that resumes by its cursor in another client after each few events reads exactly what is left (V1)", {
    timeout: 120_000,
  }, async () => {
    const task = await accepted(fleet(), shell(COUNTING));
    const place = places(2);
    const reader = "hopping reader";
    let last = 0;
    for (let n = 0; finished(task, reader) === 0; n += 1) {
      const client = await fleet().openClient(`hop ${n}`);
      last = await client.read(task, { reader, after: last, until: last + 1 + ((place.next().value ?? 0) % 4) });
      await client.close();
    }

    expect(finished(task, reader)).toBe(1);
  });

  it("that hardly reads holds nobody up, and is told what it missed (V1)", { timeout: 120_000 }, async () => {
    const slow = new AbortController();
    const task = await accepted(fleet(), shell(COUNTING));
    const reading = fleet().producer.read(task, { reader: "slow reader", signal: slow.signal });
    // Who has got a first page survives a line on which the next one takes longer than a call may.
    await waitFor(() => seenBy(task, "slow reader") > 0, { bound_ms: 10_000, what: "the reader has begun" });
    await fleet().producerLine.set({ kind: "slow", bytes_per_second: 200 });
    const quick = await fleet().openClient("quick");
    const began = performance.now();
    const outcome = await quick.outcome(task, 30_000);
    await quick.read(task, { reader: "quick reader" });
    expect(performance.now() - began).toBeLessThan(20_000);
    await fleet().producerLine.set({ kind: "pass" });
    await reading;

    expect(outcome.stdout.text).toBe(PRINTED);
    expect(finished(task, "slow reader")).toBe(1);
  });

  it("leaves nothing behind and no rule broken (C1, C2, L1, T1, Q1)", async () => {
    await fleet().finish();
  });
});
