import { createMetrics, silentLogger } from "@holdfast/chassis";
import type { HostId } from "@holdfast/contract";
import { expect, test } from "vitest";
import { OWN_HOST } from "../../test/boot-state.js";
import { createCareMetrics } from "../care-metrics.js";
import { type EngineSeen, engineLookDuty } from "./engine-look.js";

function setup() {
  const engine = { answers: true, host_id: OWN_HOST as HostId | null };
  const asked: string[] = [];
  const seen: EngineSeen = {
    engine: { ping: async () => engine.answers, identify: async () => engine.host_id },
    host_id: null,
    engine_healthy: false,
    logger: silentLogger(),
    metrics: createCareMetrics(createMetrics()),
    pokeSweep: () => void asked.push("sweep"),
    pokeRecovery: () => void asked.push("recovery"),
  };
  return { asked, engine, seen, duty: engineLookDuty(seen) };
}

test("an engine that answers and is a host of the fleet is swept at once, and trusted again after it was away", async () => {
  const { asked, engine, seen, duty } = setup();
  await duty.runOnce();
  expect([seen.host_id, seen.engine_healthy, asked]).toEqual([OWN_HOST, true, ["sweep", "recovery"]]);

  engine.answers = false;
  await duty.runOnce();
  expect(seen.engine_healthy, "one lost ping is no sickness").toBe(true);
  await duty.runOnce();
  expect(seen.engine_healthy).toBe(false);
  engine.answers = true;
  await duty.runOnce();

  expect([seen.engine_healthy, asked.length]).toEqual([true, 4]);
});

test("an engine that never was a host of the fleet is looked at again and not touched (E2)", async () => {
  const { asked, engine, seen, duty } = setup();
  engine.host_id = null;
  await duty.runOnce();
  expect([seen.host_id, seen.engine_healthy, asked]).toEqual([null, false, []]);

  engine.host_id = OWN_HOST;
  await duty.runOnce();

  expect(seen.host_id).toBe(OWN_HOST);
});
