/** Pool slices: what a boot reserves of its host for sandboxes that wait for a task (C1, C2, L4, Q1). */
import type { PoolKeyView } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { type LedgerFixture, LIMITS, useFreshLedger, type Worker } from "./ledger-fixture.js";

let f: LedgerFixture;
let worker: Worker;

useFreshLedger(async (fixture) => {
  f = fixture;
  worker = await f.register();
});

const KEY: PoolKeyView = {
  ...{ image: "lab:bb", image_digest: "sha256:aa", runtime: "runc", cpu: 1, memory_mb: 512, disk_mb: 256 },
  ...{ pids_limit: 128, pinned: true, wanted: 2, ready: 1, filling: 1, hits: 3, misses: 1 },
};

function slice(of: Worker, memory_mb: number, pids = 0, report: readonly PoolKeyView[] = []) {
  return f.ledger.boots.setSlice({ boot_id: of.boot_id, memory_mb, pids, report });
}

describe("a slice", () => {
  it("is memory and pids of its host, shown beside what the pool holds", async () => {
    expect(await slice(worker, 1_792, 260, [KEY])).toEqual({
      ...{ kind: "set", memory_mb: 1_792, pids: 260, yield: false, promotions: [] },
    });

    const [host] = await f.ledger.hosts.list();
    expect(host).toMatchObject({
      reserved: { slots: 0, cpu_milli: 0, memory_mb: 1_792, pids: 260 },
      pool_reserved: { memory_mb: 1_792, pids: 260 },
      boots: [{ held: 0, slice: { memory_mb: 1_792, pids: 260 }, pool: [KEY] }],
    });
    expect(await f.ledger.hosts.sandboxes()).toEqual([]);
  });

  it("that grows beyond the host's room stays as it was, and one that shrinks gives back (C1)", async () => {
    await slice(worker, LIMITS.memory_mb - 100);
    const full = { kind: "set", memory_mb: LIMITS.memory_mb - 100, pids: 0 };
    expect(await slice(worker, LIMITS.memory_mb + 1)).toMatchObject(full);
    expect(await slice(worker, LIMITS.memory_mb - 100, LIMITS.pids + 1)).toMatchObject(full);
    await f.expectCounted();

    expect(await slice(worker, 100, 10)).toMatchObject({ memory_mb: 100, pids: 10 });
  });
});
