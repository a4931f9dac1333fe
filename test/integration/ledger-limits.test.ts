/** Limits that are set, lowered, raised and lifted: what waits, who goes on, and what is shown (C1). */
import type { ScopeView } from "@holdfast/contract";
import type { Delivery, Grant } from "@holdfast/ledger";
import { describe, expect, it } from "vitest";
import { type LedgerFixture, outcomeOf, useFreshLedger, type Worker } from "./ledger-fixture.js";

const ROOMY = { slots: 200, cpu_milli: 1_000_000, memory_mb: 1_000_000, pids: 100_000 };
let f: LedgerFixture;
let worker: Worker;

useFreshLedger(async (fixture) => {
  f = fixture;
  worker = await f.register({ limits: ROOMY });
});

type More = Parameters<LedgerFixture["accept"]>[0];

/** Accepts in an order that the clock can tell. */
async function accept(more: More = {}): Promise<Delivery> {
  await f.advance(1);
  return f.accept(more);
}

async function parked(more: More, scope: string): Promise<Delivery> {
  const delivery = await accept(more);
  expect(await f.admit(worker, delivery)).toMatchObject({ kind: "parked", scope });
  return delivery;
}

async function end(grant: Grant): Promise<string[]> {
  await f.ledger.tasks.settle(grant, outcomeOf(grant));
  return (await f.ledger.tasks.release(grant)).promotions.map(({ task_id }) => task_id);
}

async function view(scope: string, id: string): Promise<ScopeView | undefined> {
  const { scopes } = await f.ledger.hosts.limits(100);
  return scopes.find((found) => found.scope === scope && found.id === id);
}

const set: LedgerFixture["ledger"]["hosts"]["setLimits"] = (...args) => f.ledger.hosts.setLimits(...args);

describe("a limit that is lowered", () => {
  it("to no slots is a pause: what runs goes on, what waits stays, new ones are accepted (T2)", async () => {
    const grant = await f.granted(worker, await accept());
    await set("workspace", "default", { slots: 0 });
    const [one, two] = [await parked({}, "workspace"), await parked({}, "workspace")];

    expect(await end(grant)).toEqual([]);
    const woken = await set("workspace", "default", { slots: 1 });
    expect(woken).toMatchObject([{ task_id: one.task_id, queue: "tasks", job_id: one.job_id }]);
    expect(await end(await f.granted(worker, one))).toEqual([two.task_id]);
    await end(await f.granted(worker, two));
  });

  it("passes over a waiter that alone exceeds it, in its workspace and in the fleet, and takes it up once it is raised", async () => {
    for (const [scope, id] of [
      ["workspace", "default"],
      ["fleet", "all"],
    ] as const) {
      await set(scope, id, { slots: 1, cpu_milli: 4_000 });
      const first = await f.granted(worker, await accept());
      const large = await parked({ resources: { cpu: 4 } }, scope);
      const small = await parked({}, scope);
      await set(scope, id, { cpu_milli: 2_000 });

      expect(await end(first)).toEqual([small.task_id]);
      const newcomer = await accept();
      const second = await f.granted(worker, small);
      expect(await f.admit(worker, newcomer)).toMatchObject({ kind: "parked", scope });
      expect(await end(second)).toEqual([newcomer.task_id]);
      await end(await f.granted(worker, newcomer));
      const woken = await set(scope, id, { slots: null, cpu_milli: null });
      expect(woken).toMatchObject([{ task_id: large.task_id }]);
      await end(await f.granted(worker, large));
    }
  });

  it("leaves a waiter that exceeds it to its queue time-out (T1)", async () => {
    await set("fleet", "all", { slots: 0 });
    const large = await parked({ resources: { cpu: 4 }, queue_timeout_seconds: 10 }, "fleet");
    await set("fleet", "all", { slots: 1, cpu_milli: 1_000 });
    await f.advance(10_000);

    expect((await f.ledger.tasks.expireQueued(10)).ended).toMatchObject([{ task_id: large.task_id }]);
    expect((await f.ledger.tasks.outcome(large))?.error).toMatchObject({ code: "QUEUE_TIMEOUT", fault: "capacity" });
  });

  it.each([{ slots: 0 }, { cpu_milli: 500 }])(
    "of the only host to %j makes tasks wait, and ends none (T2)",
    async (limits) => {
      const waiter = await accept();
      await set("host", worker.host_id, limits);

      expect(await f.admit(worker, waiter)).toMatchObject({ kind: "parked", scope: "host" });
      expect(await f.ledger.tasks.headsWithRoom()).toEqual([]);
      expect(await set("host", worker.host_id, ROOMY)).toMatchObject([{ task_id: waiter.task_id }]);
      await end(await f.granted(worker, waiter));
    },
  );
});

describe("a limit that is raised", () => {
  it("tells a waiter that lay down meanwhile to move on to the list of what it lacks by now (T2)", async () => {
    await set("fleet", "all", { slots: 1 });
    const holder = await f.granted(worker, await accept());
    await set("workspace", "w", { slots: 0 });
    const waiter = await parked({ workspace_id: "w" }, "workspace");
    expect(await f.ledger.tasks.look(waiter)).toBe(false);

    await set("workspace", "w", { slots: 1 });

    expect(await f.ledger.tasks.look(waiter)).toBe(true);
    expect(await f.admit(worker, waiter)).toMatchObject({ kind: "parked", scope: "fleet" });
    expect(await f.ledger.tasks.look(waiter), "once only").toBe(false);
    expect(await end(holder)).toEqual([waiter.task_id]);
    await f.ledger.tasks.cancel(waiter);
  });

  it.each([
    ["workspace", "default"],
    ["fleet", "all"],
  ] as const)(
    "of the %s wakes as many as it has room for, who may come in any order, and no more (C1)",
    async (scope, id) => {
      await set(scope, id, { slots: 0 });
      const waiters = [];
      for (let n = 0; n < 4; n += 1) waiters.push(await parked({}, scope));

      const woken = await set(scope, id, { slots: 3 });

      expect(woken.map(({ task_id }) => task_id)).toEqual(waiters.slice(0, 3).map(({ task_id }) => task_id));
      const [one, two, three, four] = waiters as [Delivery, Delivery, Delivery, Delivery];
      expect(await f.admit(worker, four)).toMatchObject({ kind: "parked", scope });
      const granted = [await f.granted(worker, three), await f.granted(worker, two), await f.granted(worker, one)];
      expect(await end(granted[0] as Grant)).toEqual([four.task_id]);
      granted.push(await f.granted(worker, four));
      for (const grant of granted.slice(1)) await end(grant);
    },
  );
});

describe("many waiters", () => {
  it("of a workspace that is full hold back nobody of another, however many they are, and are not woken in vain", async () => {
    await set("host", worker.host_id, { slots: 2 });
    const running = [await f.granted(worker, await accept()), await f.granted(worker, await accept())];
    for (let n = 0; n < 150; n += 1) await parked({ workspace_id: "crowd" }, "host");
    const other = await parked({ workspace_id: "other" }, "host");
    await set("workspace", "crowd", { slots: 0 });

    const woken = await end(running[0] as Grant);

    expect(woken).toEqual([other.task_id]);
    await end(await f.granted(worker, other));
    expect((await f.ledger.hosts.limits(0)).waiting).toEqual({ host: 0, workspace: 150, fleet: 0 });
    const raised = await set("workspace", "crowd", { slots: 1 });
    expect(raised.map(({ workspace_id }) => workspace_id)).toEqual(["crowd"]);
    await end(running[1] as Grant);
  });

  it("stay where they wait while room of their workspace is but promised to a younger one (T2)", async () => {
    const small = await f.register({ limits: { ...ROOMY, slots: 4, cpu_milli: 2_000 } });
    await set("host", worker.host_id, { slots: 1 });
    await set("workspace", "w", { slots: 1 });
    const holder = await f.granted(worker, await accept());
    const other = await f.granted(small, await accept({ resources: { cpu: 2 } }));
    const large = await parked({ workspace_id: "w", resources: { cpu: 4 } }, "host");
    const younger = [];
    for (let n = 0; n < 2; n += 1) younger.push(await accept({ workspace_id: "w", resources: { cpu: 0.5 } }));
    for (const each of younger) expect(await f.admit(small, each)).toMatchObject({ kind: "parked", scope: "host" });

    expect(await end(other)).toEqual([younger[0]?.task_id]);
    expect(await end(holder)).toContain(large.task_id);
    for (const each of [large, ...younger]) await f.ledger.tasks.cancel(each);
  });

  it("that exceed a limit hide nobody behind them for ever", async () => {
    await set("fleet", "all", { slots: 0 });
    for (let n = 0; n < 80; n += 1) await parked({ resources: { cpu: 4 } }, "fleet");
    const small = await parked({}, "fleet");
    await set("fleet", "all", { slots: 1, cpu_milli: 1_000 });

    let woken: string[] = [];
    for (let look = 0; look < 100 && woken.length === 0; look += 1) {
      await f.advance(1);
      woken = (await f.ledger.tasks.headsWithRoom()).map(({ task_id }) => task_id);
    }

    expect(woken).toEqual([small.task_id]);
    await end(await f.granted(worker, small));
  });

  it("go by age within a workspace also where a large one needs room that the small would take", async () => {
    await set("workspace", "default", { cpu_milli: 4_000 });
    await set("host", worker.host_id, { slots: 3 });
    const running = [];
    for (let n = 0; n < 3; n += 1) running.push(await f.granted(worker, await accept({ resources: { cpu: 1 } })));
    const large = await accept({ resources: { cpu: 4 } });
    expect(await f.admit(worker, large)).toMatchObject({ kind: "parked", scope: "workspace" });
    const small = await parked({ resources: { cpu: 1 } }, "workspace");

    expect(await end(running[0] as Grant)).toEqual([]);
    expect(await end(running[1] as Grant)).toEqual([]);
    expect(await f.admit(worker, small)).toMatchObject({ kind: "parked", scope: "workspace" });
    expect(await end(running[2] as Grant)).toEqual([large.task_id]);
    expect(await end(await f.granted(worker, large))).toEqual([small.task_id]);
    await end(await f.granted(worker, small));
  });
});

describe("limits", () => {
  it("are shown with what is in use, and what is at rest leaves no key (Q1)", async () => {
    await set("workspace", "w", { slots: 3, queued: 5 });
    const grant = await f.granted(worker, await accept({ workspace_id: "w" }));
    const queued = await accept({ workspace_id: "w" });

    const { scopes, waiting } = await f.ledger.hosts.limits(100);

    expect(scopes.map(({ scope, id }) => [scope, id])).toEqual([
      ["fleet", "all"],
      ["host", worker.host_id],
      ["workspace", "w"],
    ]);
    const none = { slots: null, cpu_milli: null, memory_mb: null, pids: null, queued: null, pending_bytes: null };
    expect(scopes[0]).toMatchObject({ limits: none, used: { slots: 1, cpu_milli: 1_000, queued: 1 } });
    expect(scopes[1]).toMatchObject({
      limits: { ...none, ...ROOMY },
      used: { slots: 1, queued: null, pending_bytes: null },
    });
    expect(scopes[2]).toMatchObject({
      limits: { ...none, slots: 3, queued: 5, pending_bytes: 268_435_456 },
      used: { slots: 1, queued: 1, pending_bytes: scopes[0]?.used.pending_bytes },
    });
    expect(waiting).toEqual({ host: 0, workspace: 0, fleet: 0 });
    await end(grant);
    await f.ledger.tasks.cancel(queued);
    await set("workspace", "w", null);
    const left = ["workspaces", "backlog:fleet:all", "backlog:workspace:w", "limits:workspace:w"];
    expect(await f.redis.exists(...left.map((key) => `${f.root}:${key}`))).toBe(0);
  });

  it.each([
    ["workspace", { slots: -1 }, "slots"],
    ["fleet", { queued: 1.5 }, "queued"],
    ["fleet", { slotz: 1 }, "slotz"],
    ["host", { queued: 1 }, "queued"],
    ["host", { pending_bytes: 1 }, "pending_bytes"],
    ["host", { slots: null }, "limits"],
  ] as const)("of a %s refuse %j and name the field", async (scope, limits, field) => {
    const before = await f.digest();

    const wrong = set(scope, scope === "host" ? worker.host_id : "w", limits as never);

    await expect(wrong).rejects.toMatchObject({ code: "INVALID_REQUEST" });
    await expect(wrong).rejects.toThrow(field === "slotz" ? /slotz/ : /./);
    expect(await f.digest()).toBe(before);
  });

  it("of one scope stay where others are set, and a copy of a call changes nothing", async () => {
    await set("workspace", "w", { slots: 1, cpu_milli: 2_000 });
    await set("workspace", "w", { cpu_milli: null, queued: 3 });
    const before = await f.digest();
    await set("workspace", "w", { cpu_milli: null, queued: 3 });

    expect(await f.digest()).toBe(before);
    expect((await view("workspace", "w"))?.limits).toMatchObject({ slots: 1, cpu_milli: null, queued: 3 });
  });
});
