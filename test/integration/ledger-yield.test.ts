/** Pools yield: no accepted task waits for ever because of sandboxes that wait for one (T2). */
import { type Resources, TIMES } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { LEASE_MS, type LedgerFixture, LIMITS, useFreshLedger, type Worker } from "./ledger-fixture.js";

let f: LedgerFixture;
let worker: Worker;

useFreshLedger(async (fixture) => {
  f = fixture;
  worker = await f.register();
});

/** What one of `memory_mb` takes of a host is 129 MiB more. */
const sized = (memory_mb: number): Resources => ({ cpu: 1, memory_mb, disk_mb: 1, pids_limit: 4 });
const ALL = LIMITS.memory_mb - 129;

function slice(of: Worker, memory_mb: number) {
  return f.ledger.boots.setSlice({ boot_id: of.boot_id, memory_mb, pids: 0, report: [] });
}

const asked = async (of: Worker) => {
  const reply = await slice(of, 0);
  return reply.kind === "set" && reply.yield;
};

const parked = async (of: Worker, resources: Resources) => {
  const delivery = await f.accept({ resources });
  expect(await f.admit(of, delivery)).toMatchObject({ kind: "parked", scope: "host" });
  return delivery;
};

describe("a task that lacks only what a pool holds", () => {
  it("has it given back, is woken by that, and the pool keeps off for a while (T2)", async () => {
    await slice(worker, 2_000);
    expect(await slice(worker, 2_000)).toMatchObject({ yield: false });
    const waits = await parked(worker, sized(ALL));

    expect(await slice(worker, 2_500)).toMatchObject({ memory_mb: 2_000, yield: true, promotions: [] });
    expect(await slice(worker, 1_000)).toMatchObject({ memory_mb: 1_000, yield: true, promotions: [] });
    expect(await slice(worker, 0)).toMatchObject({ yield: true, promotions: [{ task_id: waits.task_id }] });
    const grant = await f.granted(worker, waits);
    await f.finish(grant);

    await f.advance(TIMES.pool_yield_ms - 1);
    await f.ledger.boots.beat({ ...worker, counter: 0, held: [], fence_seen: null, engine_healthy: true });
    expect(await slice(worker, 100)).toMatchObject({ memory_mb: 0, yield: true });
    await f.advance(1);
    expect(await slice(worker, 100)).toMatchObject({ memory_mb: 100, yield: false });
  });

  it("is given the slices of all boots of the host together", async () => {
    const sibling = await f.register({ host_id: worker.host_id, limits: null });
    await slice(worker, 1_000);
    await slice(sibling, 1_000);
    const waits = await parked(sibling, sized(ALL));

    expect(await slice(worker, 0)).toMatchObject({ yield: true, promotions: [] });
    expect(await slice(sibling, 0)).toMatchObject({ yield: true, promotions: [{ task_id: waits.task_id }] });
  });

  it("asks that of another host, where its own could not serve it even so", async () => {
    const other = await f.register();
    await slice(other, 2_000);
    await f.running(worker, { resources: sized(1_000) });
    const waits = await parked(worker, sized(ALL));

    expect(await asked(worker)).toBe(false);
    expect(await slice(other, 0)).toMatchObject({ yield: true, promotions: [{ task_id: waits.task_id }] });
    expect(await f.admit(worker, waits)).toMatchObject({ kind: "elsewhere" });
  });

  it("asks one host only", async () => {
    const hosts = [worker, await f.register(), await f.register()];
    for (const each of hosts) await slice(each, 2_000);
    await parked(worker, sized(ALL));

    expect(await Promise.all(hosts.map(asked))).toEqual([true, false, false]);
  });
});

describe("a pool does not grow", () => {
  it("into room that a task waits for which its host could serve, whatever else that lacks (T2)", async () => {
    const busy = await f.running(worker, { resources: sized(1_000) });
    const waits = await parked(worker, sized(ALL));
    expect(await slice(worker, 100)).toMatchObject({ memory_mb: 0, yield: false });

    await f.ledger.tasks.cancel(waits);
    expect(await slice(worker, 100)).toMatchObject({ memory_mb: 100 });
    await f.finish(busy);
  });

  it("less for a task that only another host could serve", async () => {
    const images = [{ image: "other:bb", digest: "sha256:bb" }];
    const other = await f.register({ images });
    for (let n = 0; n < LIMITS.slots; n += 1) await f.running(other, { image: "other:bb" });
    const waits = await f.accept({ image: "other:bb" });
    expect(await f.admit(other, waits)).toMatchObject({ kind: "parked", scope: "host" });

    expect(await slice(worker, 100)).toMatchObject({ memory_mb: 100 });
    expect(await slice(other, 100)).toMatchObject({ memory_mb: 0 });
  });
});

describe("a pool is left alone", () => {
  it("where its room would not do, or is not what lacks", async () => {
    const busy = await f.running(worker, { resources: sized(1_000) });
    await slice(worker, 1_000);
    const large = await parked(worker, sized(ALL));
    expect(await slice(worker, 1_000)).toMatchObject({ yield: false });
    await f.ledger.tasks.cancel(large);

    const second = await f.running(worker, { resources: sized(16) });
    await parked(worker, sized(16));
    expect(await slice(worker, 1_000)).toMatchObject({ yield: false });
    for (const grant of [busy, second]) await f.finish(grant);
  });

  it("where another host has the room", async () => {
    await f.register();
    await slice(worker, 2_000);

    expect(await f.admit(worker, await f.accept({ resources: sized(ALL) }))).toMatchObject({ kind: "elsewhere" });
    expect(await asked(worker)).toBe(false);
  });

  it("where no boot of its host could be granted the task", async () => {
    const other = await f.register();
    await slice(other, 2_000);
    await f.running(worker, { resources: sized(1_000) });
    await f.ledger.hosts.setDraining(other.host_id, true);
    await parked(worker, sized(ALL));

    expect(await asked(other)).toBe(false);
  });

  it("by a note from before the clock stepped back", async () => {
    await slice(worker, 2_000);
    await parked(worker, sized(ALL));
    await f.advance(-LEASE_MS - 1);

    expect(await asked(worker)).toBe(false);
  });
});
