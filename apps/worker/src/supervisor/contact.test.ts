import { type FleetId, TIMES } from "@holdfast/contract";
import { expect, test } from "vitest";
import { handClock } from "../../test/boot-state.js";
import { createLease } from "../boot/lease.js";
import { contactDuty } from "./contact.js";

const FLEET = "fleet_1" as FleetId;

function setup() {
  const clock = handClock();
  const lease = createLease({ clock });
  const answers = { fleet_id: FLEET, away: false };
  const fleet = async () => {
    if (answers.away) throw new Error("away");
    return { fleet_id: answers.fleet_id, schema: 1, grants_open_in_ms: 0 };
  };
  return { answers, clock, lease, duty: contactDuty({ ledger: { fleet }, lease, fleet_id: FLEET }) };
}

test("a supervisor may act for as long after an answer of the ledger as a boot after a beat (L3)", async () => {
  const { answers, clock, lease, duty } = setup();
  expect(lease.mayAct()).toBe(false);
  await duty.runOnce();
  expect(lease.leftMs()).toBe(TIMES.boot_lease_ms - TIMES.own_margin_ms);

  answers.away = true;
  await expect(duty.runOnce()).rejects.toThrow("away");
  clock.pass(TIMES.boot_lease_ms - TIMES.own_margin_ms);

  expect(lease.mayAct()).toBe(false);
});

test("it does nothing in a ledger that is another fleet's by now", async () => {
  const { answers, lease, duty } = setup();
  answers.fleet_id = "fleet_2" as FleetId;

  await expect(duty.runOnce()).rejects.toThrow("fleet_2");

  expect(lease.mayAct()).toBe(false);
});
