import type { BootId, SandboxId } from "@holdfast/contract";
import type { SweepCounts, SweepFacts } from "@holdfast/engine";
import type { BootSight } from "@holdfast/ledger";
import { expect, test } from "vitest";
import { bootStateOf, handClock, OWN_HOST } from "../../test/boot-state.js";
import { sweepDuty } from "./sweep.js";

const NOTHING: SweepCounts = { seen: 0, removed: 0, failed: 0, stuck: 0, strange: [] };

function setup(counts: SweepCounts = NOTHING) {
  const clock = handClock();
  const told: SweepFacts[] = [];
  const sweep = async (facts: SweepFacts) => {
    told.push(facts);
    return counts;
  };
  const boot = bootStateOf({ clock, engine: { sweep } });
  const events: string[] = [];
  const logger = { ...boot.logger, error: (event: string) => void events.push(event) };
  return { boot: { ...boot, logger }, clock, events, told };
}

const sight = (boot_id: string, dead_ms: number | null): BootSight => ({
  boot_id: boot_id as BootId,
  host_id: OWN_HOST,
  state: dead_ms === null ? "LIVE" : "DEAD",
  counter: 1,
  lease_ended: false,
  dead_ms,
  reservations: 0,
});

test("the engine is told who is DEAD for good and who has a record; of a stale look only the former (L4, E2)", async () => {
  const { boot, clock, told } = setup();
  const duty = sweepDuty(boot);
  await duty.runOnce();
  const sights = [sight("boot_live", null), sight("boot_young", 0), sight("boot_dead", 2_000)];
  const now_ms = boot.lease.now();
  boot.sights.take({ sent_at_ms: now_ms, answered_at_ms: now_ms, sights });
  await duty.runOnce();
  clock.pass(60_000);
  await duty.runOnce();

  expect(told.map(({ dead_boots }) => [...dead_boots])).toEqual([[], ["boot_dead"], ["boot_dead"]]);
  expect(told.map(({ known_boots }) => known_boots?.size)).toEqual([undefined, 3, undefined]);
});

test("what is strange is kept for the next beat, and a removal that hangs is an alarm, once", async () => {
  const strange = [{ sandbox_id: "sbx_1" as SandboxId, pool_of: null }];
  const { boot, events } = setup({ ...NOTHING, stuck: 1, strange });
  const duty = sweepDuty(boot);

  await duty.runOnce();
  await duty.runOnce();

  expect(boot.strange).toEqual({ seen_at_ms: boot.lease.now(), sandboxes: strange });
  expect(events).toEqual(["removal_stuck"]);
  expect(await boot.registry.text()).toContain("holdfast_sweep_stuck 1");
});
