import type { BootId, HostId } from "@holdfast/contract";
import { type BootSight, LOST_TAIL_MS } from "@holdfast/ledger";
import { expect, test } from "vitest";
import { createBootSights } from "./boot-sights.js";

const LIVE = "boot_live" as BootId;
const DEAD = "boot_dead" as BootId;

const sight = (boot_id: BootId, dead_ms: number | null): BootSight => ({
  boot_id,
  host_id: "host_1" as HostId,
  state: dead_ms === null ? "LIVE" : "DEAD",
  counter: 1,
  lease_ended: false,
  dead_ms,
  reservations: 1,
  holds_slice: false,
});

const lookAt = (at_ms: number, ...sights: BootSight[]) => ({ sent_at_ms: at_ms - 5, answered_at_ms: at_ms, sights });

test("a DEAD may be acted on once a look showed it older than the tail: a younger one may be taken back (L4)", () => {
  const sights = createBootSights();
  sights.take(lookAt(1_000, sight(LIVE, null), sight(DEAD, LOST_TAIL_MS - 1)));
  expect([...sights.deadForGood()]).toEqual([]);

  sights.take(lookAt(60_000, sight(LIVE, null), sight(DEAD, LOST_TAIL_MS)));
  expect([...sights.deadForGood()]).toEqual([DEAD]);
  sights.take(lookAt(61_000, sight(LIVE, null), sight(DEAD, null)));
  expect([...sights.deadForGood()]).toEqual([]);
});

test("how long it was seen DEAD counts from the first look of this worker, not by the ledger (C2)", () => {
  const sights = createBootSights();
  sights.take(lookAt(1_000, sight(DEAD, 3_600_000)));
  sights.take(lookAt(2_000, sight(DEAD, 3_601_000)));

  expect(sights.dead(4_000)).toMatchObject([{ seen_ms: 3_000, dead_ms: 3_601_000 }]);
  sights.take(lookAt(5_000));
  sights.take(lookAt(6_000, sight(DEAD, 0)));
  expect(sights.dead(6_500)).toMatchObject([{ seen_ms: 500 }]);
});

test("nobody counts as absent by a look that is not fresh (L4)", () => {
  const sights = createBootSights();
  expect(sights.known(0)).toBeNull();
  sights.take(lookAt(1_000, sight(LIVE, null), sight(DEAD, 5_000)));

  expect(sights.known(6_000)).toEqual(new Set([LIVE, DEAD]));
  expect(sights.known(6_001)).toBeNull();
});
