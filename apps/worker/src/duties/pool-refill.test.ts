import type { ImageOffer } from "@holdfast/contract";
import type { CreateReply, Sandbox, SandboxEnd, SandboxSpec } from "@holdfast/engine";
import type { SliceCall, SliceReply } from "@holdfast/ledger";
import { describe, expect, it } from "vitest";
import { bootStateOf, handClock } from "../../test/boot-state.js";
import { giveBackSlice, poolRefillDuty } from "./pool-refill.js";

const IMAGES: readonly ImageOffer[] = [{ image: "holdfast/python:3.11-1", digest: "sha256:1" }];
const ONE = { memory_mb: 896, pids: 130 };
const TWO = { memory_mb: 1_792, pids: 260 };
const NONE = { memory_mb: 0, pids: 0 };
const settled = () => new Promise(setImmediate);

/** A host with so much room for slices, which its tasks may want back; sandboxes are made and removed at once. */
function setup(free = 10_000) {
  const host = { free, yield: false, slice: NONE, fenced: false };
  const calls: SliceCall[] = [];
  const alive = new Set<string>();
  const destroyable = { proven: true };

  const setSlice = async (call: SliceCall): Promise<SliceReply> => {
    calls.push(call);
    if (host.fenced) return { kind: "fenced" };
    const { memory_mb, pids } = call;
    const grows = memory_mb > host.slice.memory_mb;
    if (!grows || (memory_mb <= host.free && !host.yield)) host.slice = { memory_mb, pids };
    return { kind: "set", ...host.slice, yield: host.yield, promotions: [] };
  };
  const create = async ({ sandbox_id }: SandboxSpec): Promise<CreateReply> => {
    alive.add(sandbox_id);
    const sandbox: Partial<Sandbox> = {
      sandbox_id,
      ended: new Promise<SandboxEnd>(() => {}),
      ping: async () => {},
      destroy: async () => {
        if (destroyable.proven) alive.delete(sandbox_id);
        return { proven: destroyable.proven, kill_ms: 1, remove_ms: 1 };
      },
    };
    return { kind: "ready", sandbox: sandbox as Sandbox };
  };
  const clock = handClock();
  const boot = bootStateOf({
    clock,
    boots: { setSlice },
    engine: { images: IMAGES, create },
    settings: { HOLDFAST_POOL: "2" },
  });
  boot.lease.renewed(boot.lease.now(), 60_000);
  boot.gate.open("starting");
  let poked = 0;
  boot.pokePool = () => {
    poked += 1;
  };
  const duty = poolRefillDuty(boot);
  return {
    boot,
    clock,
    host,
    calls,
    alive,
    destroyable,
    poked: () => poked,
    pass: async () => {
      await duty.runOnce();
      await settled();
      expect(alive.size * ONE.memory_mb, "E1: what waits never takes more than the slice").toBeLessThanOrEqual(
        host.slice.memory_mb,
      );
    },
  };
}

const sizes = (calls: readonly SliceCall[]): number[] => calls.map(({ memory_mb }) => memory_mb);

describe("poolRefillDuty", () => {
  it("reserves its slice before it makes anything, and tells what it keeps (E1)", async () => {
    const { calls, alive, pass } = setup();
    await pass();
    await pass();

    expect(alive.size).toBe(2);
    expect(calls[0]).toMatchObject({ ...TWO, report: [{ image: IMAGES[0]?.image, wanted: 2, ready: 0 }] });
    expect(calls[1]?.report).toMatchObject([{ wanted: 2, ready: 2, pinned: false, memory_mb: 512, disk_mb: 256 }]);
  });

  it("takes less where the host has no room for the whole slice, and does not ask for it at each pass", async () => {
    const { calls, alive, pass } = setup(1_000);
    await pass();
    await pass();
    await pass();

    expect(alive.size).toBe(1);
    expect(sizes(calls)).toEqual([1_792, 896, 896]);
  });

  it("says nothing while nothing changes, but once in five seconds and where a task here lacks room", async () => {
    const { boot, calls, clock, pass } = setup();
    await pass();
    await pass();
    const before = calls.length;
    await pass();
    expect(calls).toHaveLength(before);
    boot.warm.wanted_back = true;
    await pass();
    expect(calls).toHaveLength(before + 1);
    clock.pass(5_000);
    await pass();
    expect(calls).toHaveLength(before + 2);
  });

  it("yields to a task that waits: destroys its members, then gives their room back", async () => {
    const { host, alive, pass, poked } = setup();
    await pass();
    host.yield = true;
    await pass();

    expect(alive.size).toBe(0);
    expect(host.slice).toEqual(TWO);
    expect(poked()).toBeGreaterThan(0);
    await pass();
    expect(host.slice).toEqual(NONE);

    host.yield = false;
    await pass();
    await pass();
    expect(alive.size).toBe(2);
  });

  it("keeps reserved what is not proven gone (C2)", async () => {
    const { host, alive, destroyable, pass } = setup();
    await pass();
    destroyable.proven = false;
    host.yield = true;
    await pass();
    await pass();

    expect(alive.size).toBe(2);
    expect(host.slice).toEqual(TWO);
  });

  it.each(["draining", "host_draining", "engine_sick", "self_check"] as const)(
    "keeps nothing while the gate is closed for %s",
    async (reason) => {
      const { boot, host, alive, pass } = setup();
      await pass();
      boot.gate.close(reason);
      await pass();
      await pass();

      expect(alive.size).toBe(0);
      expect(host.slice).toEqual(NONE);
    },
  );

  it("asks for nothing and makes nothing without its lease (L3)", async () => {
    const { boot, calls, alive, pass } = setup();
    boot.lease.suspend();
    await pass();

    expect(calls).toEqual([]);
    expect(alive.size).toBe(0);
  });

  it("makes nothing that the ledger did not count, whatever it answers", async () => {
    const { host, alive, pass } = setup();
    host.fenced = true;
    await pass();

    expect(alive.size).toBe(0);
  });

  it("gives all of it back at the end of a boot, once it is gone", async () => {
    const { boot, host, alive, pass } = setup();
    await pass();
    await boot.warm.pool.drain();
    await giveBackSlice(boot);

    expect(alive.size).toBe(0);
    expect(host.slice).toEqual(NONE);
  });
});
