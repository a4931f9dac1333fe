/** A Redis that comes back empty or without its tail, whose clock steps, or whose memory is full. */
import type { TaskName } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { allOf } from "./lab/history.js";
import { keyOf } from "./lab/recorded-client.js";
import { accepted, grantsOf, running, shell, times, useFleet } from "./lab/use-fleet.js";

const SERVES_WITHIN_MS = 30_000;
const CUTS = times(1, 40);

describe("a ledger that lost or misjudges something", () => {
  const fleet = useFleet({ workers: 2, slots: 8, redis: { clock: true, appendfsync: "always" } });

  /** Resolves when a new task was run from end to end. Returns how long that took. */
  async function servesAgain(): Promise<number> {
    const since = performance.now();
    const task = await waitFor(() => fleet().producer.submit(shell("echo again")), {
      bound_ms: SERVES_WITHIN_MS,
      what: "a submit is taken",
    });
    expect((await fleet().producer.outcome(task, SERVES_WITHIN_MS)).status).toBe("SUCCEEDED");
    return performance.now() - since;
  }

  async function several(count: number, seconds: number): Promise<TaskName[]> {
    const script = shell(`echo begun; sleep ${seconds}; echo done`);
    return Promise.all(Array.from({ length: count }, () => accepted(fleet(), script)));
  }

  it.each([600, -600])(
    "whose clock steps by %i s: fences rise, each task ends once (L1, L2, T1)",
    { timeout: 120_000 },
    async (step) => {
      const tasks = await several(4, 3);
      await Promise.all(tasks.map((task) => running(fleet(), task)));
      const before = allOf(fleet().history.records, "grant").map(({ fence }) => BigInt(fence));
      fleet().redis.setClock(step);
      const after = await several(2, 0);
      for (const task of [...tasks, ...after]) {
        expect((await fleet().producer.outcome(task, 60_000)).status).toBe("SUCCEEDED");
      }
      const later = allOf(fleet().history.records, "grant").filter(({ task }) => after.map(keyOf).includes(task));
      fleet().redis.setClock(0);

      expect(later.every(({ fence }) => before.every((earlier) => BigInt(fence) > earlier))).toBe(true);
      expect(await servesAgain()).toBeLessThan(SERVES_WITHIN_MS);
    },
  );

  it("whose memory is full: a submit is refused, what runs is settled and released, a cancel holds (C2, T1, T3)", {
    timeout: 120_000,
  }, async () => {
    const kept = await accepted(fleet(), shell("sleep 4; exit 3"));
    const cancelled = await accepted(fleet(), shell("sleep 60"));
    await Promise.all([running(fleet(), kept), running(fleet(), cancelled)]);
    await fleet().redis.say("CONFIG", "SET", "maxmemory", "1");
    try {
      expect(await fleet().producer.submit(shell("echo never"))).toBeNull();
      await fleet().producer.cancel(cancelled);
      const ends = [await fleet().producer.outcome(kept, 20_000), await fleet().producer.outcome(cancelled, 20_000)];
      const free = async () => (await fleet().producer.client.sandboxes()).length === 0;
      await waitFor(free, { bound_ms: 20_000, what: "the capacity is given back" });

      expect(ends.map(({ status }) => status)).toEqual(["FAILED", "CANCELLED"]);
    } finally {
      await fleet().redis.say("CONFIG", "SET", "maxmemory", "0");
    }
    expect(await servesAgain()).toBeLessThan(SERVES_WITHIN_MS);
  });

  it(`that lost its tail, at ${CUTS} places: no fence repeats, nothing of the lost runs on, all kept tasks end (E1, L1, L4, T2)`, {
    timeout: CUTS * 120_000,
  }, async () => {
    for (let n = 0; n < CUTS; n += 1) {
      const tasks = await several(6, 4);
      await Promise.all(tasks.map((task) => running(fleet(), task)));
      const since_ms = performance.now() - 1;
      const place = fleet().redis.aofBytes();
      const more = await several(3, 4);
      await Promise.all(more.map((task) => running(fleet(), task)));
      await fleet().redis.kill();
      const boundaries = fleet()
        .redis.commandBoundaries()
        .filter((at) => at >= place);
      const cut = boundaries[Math.floor((boundaries.length * n) / CUTS)] ?? place;
      await fleet().redis.restartCutAt(cut);
      fleet().history.add({ kind: "lost_tail", since_ms });

      for (const task of tasks) expect((await fleet().producer.outcome(task, 60_000)).status).toBe("SUCCEEDED");
      expect(await servesAgain()).toBeLessThan(SERVES_WITHIN_MS);
      expect(tasks.map((task) => grantsOf(fleet(), task) >= 1)).toEqual(tasks.map(() => true));
    }
  });

  it("that came back empty: nothing granted for one lease, old sandboxes ended, then the fleet serves again (E1, L1, L4)", {
    timeout: 120_000,
  }, async () => {
    const tasks = await several(4, 60);
    await Promise.all(tasks.map((task) => running(fleet(), task)));
    const began_ms = allOf(fleet().history.records, "call")[0]?.at_ms ?? 0;
    await fleet().redis.restartEmpty();
    fleet().history.add({ kind: "lost_tail", since_ms: began_ms });
    const restarted_at = performance.now();

    expect(await servesAgain()).toBeLessThan(SERVES_WITHIN_MS);
    const first = allOf(fleet().history.records, "grant").find(({ at_ms }) => at_ms > restarted_at);
    expect((first?.at_ms ?? 0) - restarted_at).toBeGreaterThan(7_000);
  });

  it("leaves nothing behind and no rule broken (C1, C2, E2, E3, V1, Q1)", { timeout: 200_000 }, async () => {
    await fleet().finish({ bound_ms: 120_000 });
  });
});
