/** A worker cut off from Redis or from its engine while the other line stands, and one that wakes too late. */
import { openLedger } from "@holdfast/ledger";
import { describe, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { PREFIX } from "./lab/fleet.js";
import { allOf } from "./lab/history.js";
import { holdRequest } from "./lab/proxy.js";
import type { Mode } from "./lab/proxy-mode.js";
import { keyOf } from "./lab/recorded-client.js";
import { lasting, regrant, runAlone, stillness } from "./lab/run-alone.js";
import { accepted, grantsOf, shell, times, useFleet } from "./lab/use-fleet.js";

const REGRANT_WITHIN_MS = 20_000;
const GONE_WITHIN_MS = 5_000;
const PAST_LEASE_MS = 22_000;
const ENGINE_AWAY_MS = 12_000;
/** Lease, grace and what ends a sandbox after them. */
const PERMISSION_MS = 75_000;
const LONG_ONLY = times<number[]>([], [1]);

const HALF_OPEN: readonly (readonly [string, Mode])[] = [["half-open", { kind: "half_open" }]];
const ALL_LINES: readonly (readonly [string, Mode])[] = [
  ...HALF_OPEN,
  ["cut", { kind: "cut" }],
  ["mute", { kind: "mute" }],
  ["stalled", { kind: "stall" }],
];
const REDIS_LINES = times(HALF_OPEN, ALL_LINES);
const CUT: readonly (readonly [string, Mode])[] = [["cut", { kind: "cut" }]];
const ENGINE_LINES = times(CUT, [...CUT, ...HALF_OPEN]);
const WAKES = times(1, 10);
const LINES = 100;
const PRINTING = `i=0; while [ $i -lt ${LINES} ]; do i=$((i+1)); echo "line $i"; sleep 0.2; done`;
const PRINTED = Array.from({ length: LINES }, (_, n) => `line ${n + 1}\n`).join("");

describe("a worker behind a partition", () => {
  const fleet = useFleet({ engines: 2, workers: 2, slots: 4 });
  const victim = () => fleet().worker(0);
  const writesOf = (boots: readonly string[], since: number) =>
    allOf(fleet().history.records, "write").filter(({ boot, at_ms }) => boots.includes(boot) && at_ms > since);
  const newBoot = (before: readonly string[]) =>
    waitFor(() => victim().boots().length > before.length, { bound_ms: 30_000, what: "it goes on under a new boot" });
  const taken = (reply: string) => ["active", "appended", "settled", "requeued"].includes(reply);

  it.each(REDIS_LINES)(
    "from Redis, %s, for longer than its lease: its tasks run elsewhere, end once, and what it had ends with it (L2, L3, L4, T1)",
    {
      timeout: 120_000,
    },
    async (_, mode) => {
      const boots = victim().boots();
      const [short, endless] = await runAlone(fleet(), victim(), [shell("sleep 8; echo done"), shell("sleep 110")]);
      if (short === undefined || endless === undefined) throw new Error("no tasks");
      await victim().redis.set(mode);
      const cut_at = performance.now();

      const took = await Promise.all([short, endless].map((task) => regrant(fleet(), task, cut_at, 25_000)));
      await fleet().producer.cancel(endless);
      await lasting(cut_at, PAST_LEASE_MS);
      await victim().redis.set({ kind: "pass" });
      await stillness(fleet().engine(0).socket, boots, GONE_WITHIN_MS);
      const outcomes = [await fleet().producer.outcome(short, 60_000), await fleet().producer.outcome(endless, 60_000)];
      await newBoot(boots);

      expect(Math.max(...took)).toBeLessThan(REGRANT_WITHIN_MS);
      expect(outcomes.map(({ status, attempt }) => [status, attempt])).toEqual([
        ["SUCCEEDED", 2],
        ["CANCELLED", 2],
      ]);
      expect(writesOf(boots, cut_at).filter(({ reply }) => taken(reply))).toEqual([]);
    },
  );

  it.each(LONG_ONLY)(
    "from Redis for longer than lease and grace: its sandboxes end by themselves while it is cut off (E4, L2, T1)",
    {
      timeout: 240_000,
    },
    async () => {
      const boots = victim().boots();
      const [task] = await runAlone(fleet(), victim(), [shell("sleep 250", { timeout_seconds: 300 })]);
      if (task === undefined) throw new Error("no task");
      await victim().redis.set({ kind: "cut" });
      const cut_at = performance.now();

      await regrant(fleet(), task, cut_at, REGRANT_WITHIN_MS);
      expect(await stillness(fleet().engine(0).socket, boots, PERMISSION_MS)).toBeGreaterThan(30_000);
      await fleet().producer.cancel(task);
      expect((await fleet().producer.outcome(task, 20_000)).status).toBe("CANCELLED");
      expect(writesOf(boots, cut_at)).toEqual([]);
      await victim().redis.set({ kind: "pass" });
      await newBoot(boots);
    },
  );

  it.each(LONG_ONLY)(
    "with all others, Redis being away for longer than the grace: all work ends without a trace and runs again (E4, L3, T2)",
    {
      timeout: 300_000,
    },
    async () => {
      const boots = fleet().workers.flatMap((worker) => worker.boots());
      const tasks = [
        ...(await runAlone(fleet(), fleet().worker(0), [shell("sleep 110")])),
        ...(await runAlone(fleet(), fleet().worker(1), [shell("sleep 110")])),
      ];
      await fleet().redis.kill();
      const gone_at = performance.now();
      const within = fleet().engines.map(({ socket }) => stillness(socket, boots, PERMISSION_MS));
      for (const ms of await Promise.all(within)) expect(ms).toBeGreaterThan(55_000);
      await fleet().redis.restart();

      for (const task of tasks) {
        await regrant(fleet(), task, gone_at, 60_000);
        await fleet().producer.cancel(task);
        expect((await fleet().producer.outcome(task, 20_000)).status).toBe("CANCELLED");
      }
    },
  );

  it.each(ENGINE_LINES)(
    "from its engine, %s: what ran there keeps its capacity until it is proven gone, then runs again at no cost (C2, E1, T1, T2)",
    {
      timeout: 120_000,
    },
    async (_, mode) => {
      const [task] = await runAlone(fleet(), victim(), [shell("sleep 4; echo done", { attempts_max: 1 })]);
      if (task === undefined) throw new Error("no task");
      await victim().engine.set(mode);
      const cut_at = performance.now();
      const elsewhere = await accepted(fleet(), shell("echo elsewhere"));
      const { status } = await fleet().producer.outcome(elsewhere, 30_000);
      await lasting(cut_at, ENGINE_AWAY_MS);
      const grants = grantsOf(fleet(), task);
      const held = await fleet().producer.client.sandboxes();
      await victim().engine.set({ kind: "pass" });
      const outcome = await fleet().producer.outcome(task, 60_000);

      expect([status, grants, held.map(({ task_id }) => task_id)]).toEqual(["SUCCEEDED", 1, [task.task_id]]);
      expect([outcome.status, outcome.stdout.text, grantsOf(fleet(), task)]).toEqual(["SUCCEEDED", "done\n", 2]);
    },
  );

  it.each(LONG_ONLY)(
    "from its engine for longer than any permission to live: handed back and run elsewhere, its capacity still held (C2, E1, T2)",
    {
      timeout: 240_000,
    },
    async () => {
      const [task] = await runAlone(fleet(), victim(), [shell("echo done; sleep 3", { attempts_max: 1 })]);
      if (task === undefined) throw new Error("no task");
      const first = allOf(fleet().history.records, "grant").findLast((grant) => grant.task === keyOf(task));
      await victim().engine.set({ kind: "cut" });
      const cut_at = performance.now();

      await regrant(fleet(), task, cut_at, 100_000);
      const outcome = await fleet().producer.outcome(task, 30_000);
      const held = async () => {
        await fleet().look();
        const looked = allOf(fleet().history.records, "ledger").at(-1);
        return looked?.reservations.length === 1 && looked.reservations;
      };
      const left = await waitFor(held, { bound_ms: 20_000, what: "only what nobody can prove gone is held" });
      await victim().engine.set({ kind: "pass" });

      expect([outcome.status, outcome.stdout.text]).toEqual(["SUCCEEDED", "done\n"]);
      expect(left.map(({ token, state }) => [token, state])).toEqual([[first?.token, "draining"]]);
    },
  );

  it(`that is paused until others have ended its task, ${WAKES} times, its writes still on the way: none is taken, and it ends its sandbox itself (C1, E2, L2, L3, T1)`, {
    timeout: WAKES * 150_000,
  }, async () => {
    const ledger = await openLedger({ url: fleet().redis.url, prefix: PREFIX, role: "operator" });
    await ledger.hosts.setLimits("workspace", "other", { slots: 1 });
    for (let n = 0; n < WAKES; n += 1) {
      const boots = victim().boots();
      const [printing] = await runAlone(fleet(), victim(), [shell(PRINTING)]);
      const settles = victim().redis.on({ script: "task-settle" }, holdRequest("deliver"));
      const workspace_id = "other";
      const [limited] = await runAlone(fleet(), victim(), [shell("echo once", { workspace_id })]);
      if (printing === undefined || limited === undefined) throw new Error("no tasks");
      const waiting = await Promise.all(
        Array.from({ length: 10 }, () => accepted(fleet(), shell("echo next", { workspace_id }))),
      );
      await settles.reached(10_000);
      await victim().stop();
      const { status, attempt } = await fleet().producer.outcome(limited, 40_000);
      const released_at = performance.now();
      settles.remove();
      settles.release();
      const refused = () => writesOf(boots, released_at).some(({ op }) => op === "settle");
      await waitFor(refused, { bound_ms: 5_000, what: "the late settle is answered" });
      victim().resume();
      await stillness(fleet().engine(0).socket, boots, GONE_WITHIN_MS);
      const outcome = await fleet().producer.outcome(printing, 60_000);
      for (const task of waiting) expect((await fleet().producer.outcome(task, 60_000)).status).toBe("SUCCEEDED");
      await newBoot(boots);

      expect([status, attempt]).toEqual(["SUCCEEDED", 2]);
      expect([outcome.status, outcome.attempt, outcome.stdout.text]).toEqual(["SUCCEEDED", 2, PRINTED]);
      expect(writesOf(boots, released_at).filter(({ reply }) => taken(reply))).toEqual([]);
    }
    await ledger.hosts.setLimits("workspace", "other", null);
    await ledger.close();
  });

  it("leaves nothing behind and no rule broken (C1, L1, L4, E2, E3, V1, Q1)", { timeout: 200_000 }, async () => {
    await fleet().finish({ bound_ms: 120_000 });
  });
});
