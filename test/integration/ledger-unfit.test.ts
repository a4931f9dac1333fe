/** A boot whose self-check fails: it is sent nothing, and nobody waits for it; another of its host is not concerned. */
import { bootQueue } from "@holdfast/ledger";
import { describe, expect, it } from "vitest";
import { type LedgerFixture, LIMITS, useFreshLedger, type Worker } from "./ledger-fixture.js";

const ONE_SLOT = { ...LIMITS, slots: 1 };
let f: LedgerFixture;
let worker: Worker;

useFreshLedger(async (fixture) => {
  f = fixture;
  worker = await f.register({ limits: ONE_SLOT });
});

let counter = 0;
const beat = (of: Worker, ...failed_checks: string[]) =>
  f.ledger.boots.beat({ ...of, counter: ++counter, held: [], fence_seen: null, engine_healthy: true, failed_checks });

const failedOf = async (of: Worker) =>
  (await f.ledger.hosts.list()).flatMap(({ boots }) => boots).find(({ boot_id }) => boot_id === of.boot_id)
    ?.failed_checks;

const reasonsOf = async (name: Parameters<typeof f.ledger.tasks.status>[0]) => {
  const waiting = (await f.ledger.tasks.status(name))?.waiting;
  return { reason: waiting?.reason, hosts: waiting?.details?.hosts.map(({ reason }) => reason) };
};

describe("a boot that says that checks of its host failed", () => {
  it("shows them until a beat says that they hold again, and status names the cause", async () => {
    const task = await f.accept();

    await beat(worker, "memory", "pids");
    expect(await failedOf(worker)).toEqual(["memory", "pids"]);
    expect(await reasonsOf(task)).toEqual({ reason: "host_unfit", hosts: ["host_unfit"] });
    await beat(worker);

    expect(await failedOf(worker)).toEqual([]);
    expect((await reasonsOf(task)).hosts).toEqual(["room"]);
  });

  it("overwrites no other boot of its host, which takes tasks on", async () => {
    const other = await f.register({ host_id: worker.host_id, limits: null });
    const task = await f.accept();

    await beat(worker, "disk_space");
    await beat(other);

    expect([await failedOf(worker), await failedOf(other)]).toEqual([["disk_space"], []]);
    expect((await reasonsOf(task)).hosts).toEqual(["room"]);
  });

  it("is sent nothing by a host without room, and what was sent to it comes back (T2)", async () => {
    const full = await f.register({ limits: ONE_SLOT });
    await f.granted(full, await f.accept());
    const sent = await f.accept();
    expect(await f.admit(full, sent)).toMatchObject({
      kind: "elsewhere",
      delivery: { queue: bootQueue(worker.boot_id) },
    });

    await beat(worker, "memory");
    const back = await f.ledger.boots.reroute(worker.boot_id, 10);

    expect(back).toMatchObject([{ task_id: sent.task_id, delivery: 3, queue: "tasks" }]);
    expect(await f.admit(full, { ...sent, delivery: 3 })).toMatchObject({ kind: "parked" });
    await beat(worker);
    expect(await f.ledger.boots.reroute(worker.boot_id, 10)).toEqual([]);
    expect((await f.ledger.tasks.headsWithRoom()).map(({ task_id }) => task_id)).toEqual([sent.task_id]);
  });
});
