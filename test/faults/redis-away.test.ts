/** Redis killed and started again, frozen, or out of reach, while the fleet is idle and while it is busy. */
import type { TaskName } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { openPlainProducer, VERSIONS } from "../support/plain-producer.js";
import { waitFor } from "../support/wait-for.js";
import { QUEUE_PREFIX } from "./lab/fleet.js";
import { allOf } from "./lab/history.js";
import type { Mode } from "./lab/proxy-mode.js";
import { accepted, grantsOf, running, shell, times, useFleet } from "./lab/use-fleet.js";

const GRANT_WITHIN_MS = 12_000;
const KILLS = times(1, 20);
/** The outage below proves the same of an idle fleet in short runs. */
const IDLE_KILLS = times<number[]>([], [KILLS]);
const AWAY_SECONDS = times([7], [5, 7, 30, 50, 120]);
/** Longer than the grace nothing runs on: then the fleet is idle. */
const BUSY_SECONDS_MAX = 50;
const FETCHING_WITHIN_MS = 10_000;

describe("Redis", () => {
  // With everysec Redis acknowledges, during an fsync, what a kill then loses.
  const fleet = useFleet({ workers: 2, slots: 4, redis: { appendfsync: "always" } });

  /** Time from now until the first grant. */
  async function firstGrant(since: number): Promise<number> {
    const next = () => allOf(fleet().history.records, "grant").find(({ at_ms }) => at_ms > since);
    const { at_ms } = await waitFor(next, { bound_ms: GRANT_WITHIN_MS + 5_000, what: "a first grant" });
    return at_ms - since;
  }

  /** Both consumers of each worker, by connections of their own, have a fetch answered. */
  async function everyConsumerFetches(since: number): Promise<void> {
    for (const { redis } of fleet().workers) {
      const fetching = () => {
        const answered = redis.log.filter(({ phase, detail }) => phase === "reply" && detail === "bull:moveToActive");
        return new Set(answered.filter(({ at_ms }) => at_ms > since).map(({ connection }) => connection)).size >= 2;
      };
      await waitFor(fetching, {
        bound_ms: since + FETCHING_WITHIN_MS - performance.now(),
        what: "both consumers fetch",
      });
    }
  }

  async function expectAllSucceeded(tasks: readonly TaskName[]): Promise<void> {
    for (const task of tasks) {
      const { status, attempt, stdout } = await fleet().producer.outcome(task, 60_000);
      expect([status, attempt, stdout.text]).toEqual(["SUCCEEDED", 1, "begun\ndone\n"]);
      expect(grantsOf(fleet(), task)).toBe(1);
    }
  }

  /** As many tasks as there are slots, all running. */
  async function busy(seconds: number): Promise<TaskName[]> {
    const script = `echo begun; sleep ${seconds}; echo done`;
    const tasks = await Promise.all([1, 2, 3, 4].map(() => accepted(fleet(), shell(script))));
    await Promise.all(tasks.map((task) => running(fleet(), task)));
    return tasks;
  }

  it.each(IDLE_KILLS)(
    `killed and started again while idle, %i times: fetching and granting within 12 s (L1, T2)`,
    {
      timeout: KILLS * 60_000,
    },
    async () => {
      for (let n = 0; n < KILLS; n += 1) {
        await fleet().redis.kill();
        await fleet().redis.restart();
        const since = performance.now();
        await waitFor(async () => (await fleet().producer.client.hosts()).length > 0, {
          bound_ms: 5_000,
          what: "the client",
        });
        const task = await accepted(fleet(), shell("echo begun; echo done"));

        expect(await firstGrant(since)).toBeLessThan(GRANT_WITHIN_MS);
        await expectAllSucceeded([task]);
      }
    },
  );

  it(`killed and started again while busy, ${KILLS} times: nothing runs twice, nothing is lost (L2, T1, T2)`, {
    timeout: KILLS * 90_000,
  }, async () => {
    for (let n = 0; n < KILLS; n += 1) {
      const tasks = await busy(3);
      await fleet().redis.kill();
      await fleet().redis.restart();

      await expectAllSucceeded(tasks);
    }
  });

  it("killed and started again: plain producers with BullMQ 6 and 5 are answered all the same (T2)", async () => {
    const { url } = fleet().redis;
    const producers = await Promise.all(
      VERSIONS.map((version) => openPlainProducer({ url, prefix: QUEUE_PREFIX, version })),
    );
    const request = shell("echo begun; sleep 2; echo done");
    const jobs = await Promise.all([...producers, ...producers, ...producers].map((producer) => producer.add(request)));
    const runs = async () => (await Promise.all(jobs.map((job) => job.state()))).includes("active");
    await waitFor(runs, { bound_ms: 30_000, what: "some run, some wait" });
    await fleet().redis.kill();
    await fleet().redis.restart();

    for (const { finished } of jobs) {
      expect(await finished).toMatchObject({
        status: "SUCCEEDED",
        attempt: 1,
        stdout: { text: null, total_bytes: 11 },
      });
    }
    await Promise.all(producers.map((producer) => producer.close()));
  });

  it.each(AWAY_SECONDS)(
    "away for %i s: what runs goes on and ends as if nothing had been (E4, L3, T1)",
    { timeout: 180_000 },
    async (seconds) => {
      const tasks = seconds > BUSY_SECONDS_MAX ? [] : await busy(seconds / 2);
      await fleet().redis.kill();
      const gone_at = performance.now();
      await waitFor(() => performance.now() - gone_at > seconds * 1000, {
        bound_ms: seconds * 1000 + 5_000,
        what: "the outage",
      });
      await fleet().redis.restart();
      const since = performance.now();

      await everyConsumerFetches(since);
      const after = await waitFor(() => fleet().producer.submit(shell("echo begun; echo done")), {
        bound_ms: 10_000,
        what: "submit",
      });
      expect(await firstGrant(since)).toBeLessThan(GRANT_WITHIN_MS);
      await expectAllSucceeded([...tasks, after]);
    },
  );

  const LINES: readonly (readonly [string, Mode])[] = [
    ["cut", { kind: "cut" }],
    ...times<readonly (readonly [string, Mode])[]>(
      [],
      [
        ["stalled", { kind: "stall" }],
        ["half-open", { kind: "half_open" }],
        ["mute", { kind: "mute" }],
      ],
    ),
  ];
  it.each(LINES)("%s for 5 s for one of two workers: its tasks end once (L2, L3, T1)", async (_, mode) => {
    const tasks = await busy(2);
    const line = fleet().worker(0).redis;
    await line.set(mode);
    const since = performance.now();
    await waitFor(() => performance.now() - since > 5_000, { bound_ms: 10_000, what: "the partition" });
    await line.set({ kind: "pass" });

    await expectAllSucceeded(tasks);
  });

  it("frozen for 5 s: a submit fails or is taken within 5 s, and nothing is granted twice (L1, L3)", async () => {
    const tasks = await busy(2);
    await fleet().redis.freeze();
    const frozen_at = performance.now();
    const lost = await fleet().producer.submit(shell("echo begun; echo done"));
    expect(performance.now() - frozen_at).toBeLessThan(5_500);
    fleet().redis.thaw();

    await expectAllSucceeded(lost === null ? tasks : [...tasks, lost]);
  });

  it("leaves nothing behind and no rule broken (C1, C2, L1, L4, E1, E2, E3, V1, Q1)", async () => {
    await fleet().finish();
  });
});
