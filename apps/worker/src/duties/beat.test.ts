import type { OwnerToken, SandboxId, TaskId, WorkspaceId } from "@holdfast/contract";
import type { BeatCall, BeatReply, Grant } from "@holdfast/ledger";
import { describe, expect, test } from "vitest";
import { bootStateOf } from "../../test/boot-state.js";
import { createOrders } from "../run/orders.js";
import { beatDuty } from "./beat.js";

const token = (name: string): OwnerToken => `own_${name}` as OwnerToken;
const drawn = (name: string) => ({
  workspace_id: "default" as WorkspaceId,
  task_id: `task_${name}` as TaskId,
  owner_token: token(name),
  sandbox_id: `sbx_${name}` as SandboxId,
});
const OK_WORDS = { kind: "ok", lease_ms: 8_000, draining: false, host_draining: false } as const;
const OK = { ...OK_WORDS, cancelled: [], unknown: [], missing: [] } as const;

/** A boot whose ledger answers what the test says. */
function setup(answer: (call: BeatCall) => Promise<BeatReply>, found: readonly { sandbox_id: string }[] = []) {
  const released: OwnerToken[] = [];
  const release = async ({ owner_token }: { owner_token: OwnerToken }) => {
    released.push(owner_token);
    return { kind: "released", promotions: [], requeued: null };
  };
  const boot = bootStateOf({ boots: { beat: answer }, tasks: { release }, engine: { list: async () => found } });
  function begin(name: string) {
    const orders = createOrders();
    const never = new Promise<never>(() => {});
    boot.tokens.hold(drawn(name));
    const run = { answer: never, released: never };
    boot.runs.add({ grant: drawn(name) as Grant, orders, run, source: "shared", answered: false });
    return orders;
  }
  return { begin, boot, duty: beatDuty(boot), released };
}

describe("beat", () => {
  test("carries every token from before its admit, with a counter that rises (L1)", async () => {
    const calls: BeatCall[] = [];
    const { boot, duty } = setup(async (call) => {
      calls.push(call);
      return OK;
    });
    boot.tokens.hold(drawn("not_granted_yet"));

    await duty.runOnce();
    await duty.runOnce();

    expect(calls.map(({ counter }) => counter)).toEqual([1, 2]);
    expect(calls[0]?.held).toEqual([token("not_granted_yet")]);
    expect(boot.lease.mayAct()).toBe(true);
  });

  test("a cancel flag reaches its run and no other (T3)", async () => {
    const { begin, duty } = setup(async () => ({ ...OK, cancelled: [token("a")] }));
    const [a, b] = [begin("a"), begin("b")];

    await duty.runOnce();

    expect(a.given).toEqual({ kind: "cancel" });
    expect(b.given).toBeNull();
  });

  test("a run the ledger does not know is ended unsettled, but not one granted after the beat was sent (L2)", async () => {
    let grantedMeanwhile: ReturnType<typeof createOrders> | null = null;
    const { begin, duty } = setup(async () => {
      grantedMeanwhile = begin("young");
      return { ...OK, unknown: [token("old"), token("young")] };
    });
    const old = begin("old");

    await duty.runOnce();

    expect(old.given).toMatchObject({ kind: "abandon" });
    expect(grantedMeanwhile).toMatchObject({ given: null });
  });

  test("a token the worker dropped and the ledger still holds is given back, one it holds is not (C2)", async () => {
    const { begin, boot, duty, released } = setup(async () => ({ ...OK, missing: [token("dropped"), token("held")] }));
    boot.tokens.hold(drawn("dropped"));
    boot.tokens.drop(token("dropped"));
    begin("held");

    await duty.runOnce();
    await new Promise(setImmediate);

    expect(released).toEqual([token("dropped")]);
  });

  test("nor is one whose sandbox the engine still knows: it is no proof that nobody holds it (C2)", async () => {
    const missing = { ...OK, missing: [token("left")] };
    const { boot, duty, released } = setup(async () => missing, [{ sandbox_id: drawn("left").sandbox_id }]);
    let sweeps = 0;
    boot.pokeSweep = () => {
      sweeps += 1;
    };
    boot.tokens.hold(drawn("left"));
    boot.tokens.drop(token("left"));

    await duty.runOnce();
    await new Promise(setImmediate);

    expect(released).toEqual([]);
    expect(sweeps).toBe(1);
  });

  test("tells of sandboxes that nobody here holds once for each look at the engine, while that is fresh (C1)", async () => {
    const calls: BeatCall[] = [];
    const { boot, duty } = setup(async (call) => {
      calls.push(call);
      return OK;
    });
    const strange = { sandbox_id: drawn("strange").sandbox_id, pool_of: null };

    await duty.runOnce();
    boot.strange = { seen_at_ms: boot.lease.now(), sandboxes: [strange] };
    await duty.runOnce();
    await duty.runOnce();
    boot.strange = { seen_at_ms: boot.lease.now(), sandboxes: [] };
    await duty.runOnce();
    boot.strange = { seen_at_ms: boot.lease.now() - 60_000, sandboxes: [strange] };
    await duty.runOnce();

    const told = calls.map((call) => call.strange_sandboxes);
    expect(told).toEqual([undefined, [strange], undefined, [], undefined]);
  });

  test.each(["unknown", "dead"] as const)("a boot that is %s may never act again (L4)", async (kind) => {
    const { boot, duty } = setup(async () => ({ kind }));

    await duty.runOnce();

    expect(boot.lease.revoked).toBe(true);
  });

  test("an unanswered beat closes the gate once the lease is over, and the next answer opens it (L3)", async () => {
    let away = true;
    const { boot, duty } = setup(async () => {
      if (away) throw new Error("away");
      return OK;
    });
    boot.gate.open("starting");

    await duty.runOnce();
    expect(boot.gate.reasons).toEqual(["lease_ended"]);
    away = false;
    await duty.runOnce();

    expect(boot.gate.isOpen).toBe(true);
  });

  test("a boot that is told to drain takes nothing more, whatever a later beat says", async () => {
    let draining = true;
    const { boot, duty } = setup(async () => ({ ...OK, draining }));
    boot.gate.open("starting");

    await duty.runOnce();
    draining = false;
    await duty.runOnce();

    expect(boot.gate.reasons).toEqual(["draining"]);
  });

  test("a host that drains closes the gate until the ledger takes it back, and touches no run", async () => {
    let host_draining = true;
    const { begin, boot, duty } = setup(async () => ({ ...OK, host_draining }));
    boot.gate.open("starting");
    const orders = begin("goes_on");

    await duty.runOnce();
    await duty.runOnce();
    expect(boot.gate.reasons).toEqual(["host_draining"]);
    expect(boot.lease.mayAct()).toBe(true);
    host_draining = false;
    await duty.runOnce();

    expect(boot.gate.isOpen).toBe(true);
    expect(orders.given).toBeNull();
  });
});
