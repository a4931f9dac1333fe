import { describe, expect, test } from "vitest";
import { createLease } from "./lease.js";

function setup() {
  const now = { monotonic: 1_000, wall: 1_700_000_000_000, boot: 9_000_000 };
  const clock = { monotonicMs: () => now.monotonic, wallMs: () => now.wall, bootMs: () => now.boot };
  const lease = createLease({ clock, margin_ms: 2_000, outage_grace_ms: 60_000 });
  return {
    lease,
    pass(ms: number): void {
      now.monotonic += ms;
      now.boot += ms;
      now.wall += ms;
    },
    suspend(ms: number): void {
      now.boot += ms;
      now.wall += ms;
    },
    setClock(ms: number): void {
      now.wall += ms;
    },
  };
}

describe("lease", () => {
  test("is counted from before the beat was sent and ends its margin early (L3)", () => {
    const { lease, pass } = setup();
    const sent_at_ms = lease.now();
    pass(3_000);
    expect(lease.mayAct()).toBe(false);

    lease.renewed(sent_at_ms, 8_000);

    expect(lease.leftMs()).toBe(3_000);
    pass(2_999);
    expect(lease.mayAct()).toBe(true);
    pass(1);
    expect(lease.mayAct()).toBe(false);
  });

  test("permission outlives it by its margin and the outage grace, and no more (E4)", () => {
    const { lease, pass } = setup();
    lease.renewed(lease.now(), 8_000);

    expect(lease.permissionMs()).toBe(68_000);
    pass(67_999);
    expect(lease.permissionMs()).toBe(1);
    pass(1);
    expect(lease.permissionMs()).toBe(0);
  });

  test("a suspend ends it on the spot and is taken off the permission, whoever looks first", () => {
    const { lease, suspend } = setup();
    lease.renewed(lease.now(), 8_000);

    suspend(20_000);

    expect(lease.permissionMs()).toBe(48_000);
    expect(lease.mayAct()).toBe(false);
  });

  test("a beat answered after a suspend does not renew as if no time had passed", () => {
    const { lease, suspend } = setup();
    const sent_at_ms = lease.now();
    suspend(20_000);
    expect(lease.permissionMs()).toBe(0);

    lease.renewed(sent_at_ms, 8_000);

    expect(lease.mayAct()).toBe(false);
    expect(lease.permissionMs()).toBe(48_000);
  });

  test("a clock that is set forward may end it, and takes nothing off the permission (X20)", () => {
    const { lease, setClock } = setup();
    lease.renewed(lease.now(), 8_000);

    setClock(600_000);

    expect(lease.mayAct()).toBe(false);
    expect(lease.permissionMs()).toBe(68_000);
    lease.renewed(lease.now(), 8_000);
    expect(lease.leftMs()).toBe(6_000);
  });

  test("a clock that is set back does nothing", () => {
    const { lease, setClock } = setup();
    lease.renewed(lease.now(), 8_000);

    setClock(-600_000);

    expect(lease.leftMs()).toBe(6_000);
    expect(lease.permissionMs()).toBe(68_000);
  });

  test("a late answer to an older beat never shortens it", () => {
    const { lease, pass } = setup();
    const older = lease.now();
    pass(2_000);
    lease.renewed(lease.now(), 8_000);

    lease.renewed(older, 8_000);

    expect(lease.leftMs()).toBe(6_000);
  });

  test("a refusal by the ledger stops it until the next answer", async () => {
    const { lease, pass } = setup();
    lease.renewed(lease.now(), 8_000);
    lease.suspend();
    expect(lease.mayAct()).toBe(false);
    const waiting = lease.whenMayAct();

    pass(1_000);
    lease.renewed(lease.now(), 8_000);

    expect(await waiting).toBe(true);
  });

  test("once revoked it never comes back, and whoever waits is told so (L4)", async () => {
    const { lease } = setup();
    const waiting = lease.whenMayAct();

    lease.revoke();
    lease.renewed(lease.now(), 8_000);

    expect(await waiting).toBe(false);
    await lease.whenRevoked;
    expect(lease.mayAct()).toBe(false);
    expect(lease.permissionMs()).toBe(0);
  });
});
