/** Why each host does not take a task, and what that makes the whole fleet's reason. */
import type { TaskName } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { IMAGE, type LedgerFixture, LIMITS, useFreshLedger, type Worker } from "./ledger-fixture.js";
import { type StatusBench, statusBench } from "./ledger-status-bench.js";

let f: LedgerFixture;
let worker: Worker;
let b: StatusBench;

useFreshLedger(async (fixture) => {
  f = fixture;
  worker = await f.register();
  b = statusBench(f, worker);
});

const hostReason = async (name: TaskName, of = worker) =>
  (await b.details(name)).hosts.find(({ host_id }) => host_id === of.host_id)?.reason;

describe("why a host does not take a task", () => {
  it("full, with what is short; kept_for_older while its room is another's; then room", async () => {
    const big = await b.granted({ resources: { cpu: 3 } });
    const older = await b.parked({ resources: { cpu: 2 } });
    const younger = await b.accept();

    expect((await b.details(older)).hosts).toEqual([
      {
        host_id: worker.host_id,
        reason: "full",
        short: [{ amount: "cpu_milli", wanted: 2_000, reserved: 3_000, limit: 4_000 }],
      },
    ]);
    expect(await b.details(younger)).toMatchObject({ scope: "host", hosts: [{ reason: "kept_for_older" }] });
    await f.finish(big);
    expect(await hostReason(older)).toBe("room");
    await f.ledger.tasks.cancel(older);
    expect(await hostReason(younger)).toBe("room");
    await f.ledger.tasks.cancel(younger);
  });

  it("image_absent, runtime_absent, too_small: one host each, while another could", async () => {
    const images = [{ image: "other:1", digest: "sha256:cc" }];
    const [bare, plain] = [await f.register({ images }), await f.register({ runtimes: ["runsc"] })];
    const small = await f.register({ limits: { ...LIMITS, cpu_milli: 2_000 } });
    const delivery = await b.accept({ resources: { cpu: 3 } });

    expect(await hostReason(delivery, bare)).toBe("image_absent");
    expect(await hostReason(delivery, plain)).toBe("runtime_absent");
    const row = (await b.details(delivery)).hosts.find(({ host_id }) => host_id === small.host_id);
    expect(row).toMatchObject({ reason: "too_small", short: [{ amount: "cpu_milli", wanted: 3_000, limit: 2_000 }] });
    expect(await hostReason(delivery)).toBe("room");
    expect((await b.view(delivery)).waiting?.reason).toBe("queued");
    await f.ledger.tasks.cancel(delivery);
  });

  it("engine_unavailable, draining, no_worker; the whole fleet's reason is the least of what is in the way", async () => {
    const other = await f.register();
    const delivery = await b.accept();
    await b.beat(worker, 1, false);
    expect(await hostReason(delivery)).toBe("engine_unavailable");
    expect((await b.view(delivery)).waiting?.reason).toBe("queued");
    await f.ledger.boots.drain(other.boot_id);
    expect(await hostReason(delivery, other)).toBe("draining");
    expect((await b.view(delivery)).waiting?.reason).toBe("engine_unavailable");

    await f.advance(7_999);
    await b.beat(other, 1);
    await f.advance(1);
    expect(await hostReason(delivery)).toBe("no_worker");
    expect((await b.view(delivery)).waiting?.reason).toBe("draining");
    await f.advance(8_000);
    expect((await b.view(delivery)).waiting?.reason).toBe("no_worker");
    await f.ledger.tasks.cancel(delivery);
  });

  it("draining, for a host out of service, with a worker or without", async () => {
    const delivery = await b.accept();
    await f.ledger.hosts.setDraining(worker.host_id, true);
    expect(await b.view(delivery)).toMatchObject({
      waiting: { reason: "draining", details: { hosts: [{ reason: "draining" }] } },
    });
    await f.advance(8_000);
    expect(await hostReason(delivery)).toBe("draining");
    await f.ledger.hosts.setDraining(worker.host_id, false);
    expect(await hostReason(delivery)).toBe("no_worker");
    await f.ledger.tasks.cancel(delivery);
  });

  it("grants_closed, with how long still", async () => {
    const delivery = await b.accept();
    await f.redis.hset(`${f.root}:fleet`, "grants_open_at_ms", `${f.now() + 3_000}`);

    expect(await b.details(delivery)).toMatchObject({ grants_open_in_ms: 3_000, hosts: [{ reason: "grants_closed" }] });
    const { waiting } = await b.view(delivery);
    expect(waiting).toMatchObject({ reason: "grants_closed" });
    expect(waiting?.message).toContain("Grants open in 3 s.");
    await f.ledger.tasks.cancel(delivery);
  });

  it("says of a fleet without hosts that no worker is there", async () => {
    const delivery = await b.accept();
    await f.redis.srem(`${f.root}:hosts`, worker.host_id);

    expect((await b.view(delivery)).waiting).toMatchObject({ reason: "no_worker", details: { hosts: [] } });
    await f.redis.sadd(`${f.root}:hosts`, worker.host_id);
    await f.ledger.tasks.cancel(delivery);
  });

  it("shows another workspace nothing (W1), and changes no byte", async () => {
    const delivery = await b.accept({ workspace_id: "w" });
    const before = await f.digest();

    expect(
      await f.ledger.tasks.status({ ...delivery, workspace_id: "other" as typeof delivery.workspace_id }),
    ).toBeNull();
    await f.ledger.tasks.status(delivery);
    await f.ledger.tasks.list({ workspace_id: "w", cursor: null, limit: 10, image: IMAGE });
    expect(await f.digest()).toBe(before);
    await f.ledger.tasks.cancel(delivery);
  });
});
