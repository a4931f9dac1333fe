import { createMetrics, silentLogger } from "@holdfast/chassis";
import { expect, test } from "vitest";
import type { BootState } from "../boot/boot-state.js";
import { doubtEngine } from "../boot/engine-doubt.js";
import { createFitness } from "../boot/fitness.js";
import { createGate } from "../boot/gate.js";
import { createWorkerMetrics } from "../worker-metrics.js";
import { engineHealthDuty } from "./engine-health.js";

/** An engine that answers pings and gives sandboxes as the test says. */
function setup() {
  const engine = { answers: true, serves: true, probes: 0 };
  const slots: number[] = [];
  const gate = createGate(3);
  gate.open("starting");
  gate.attach({ setSlots: (wanted) => slots.push(wanted) }, "shared");
  let beats = 0;
  const boot = {
    engine: {
      ping: async () => engine.answers,
      probe: async () => {
        engine.probes += 1;
        if (!engine.serves) throw new Error("no sandbox");
      },
    },
    engine_healthy: true,
    fitness: createFitness({ every_ms: 3_600_000, retry_ms: 60_000, jitter: () => 1 }),
    gate,
    logger: silentLogger(),
    metrics: createWorkerMetrics(createMetrics()),
    pokeBeat: () => {
      beats += 1;
    },
    pokeSweep: () => {},
    pokeRecovery: () => {},
    pokeEngineHealth: () => {},
  } as unknown as BootState;
  return { boot, engine, slots, duty: engineHealthDuty(boot), beats: () => beats };
}

test("two missed pings make the engine sick and close the gate at once; a verified sandbox opens it (E3)", async () => {
  const { boot, engine, slots, duty, beats } = setup();

  engine.answers = false;
  await duty.runOnce();
  expect(boot.engine_healthy).toBe(true);
  await duty.runOnce();

  expect(boot.engine_healthy).toBe(false);
  expect(slots.at(-1)).toBe(0);
  expect(engine.probes).toBe(0);
  engine.answers = true;
  await duty.runOnce();

  expect(boot.engine_healthy).toBe(true);
  expect(engine.probes).toBe(1);
  expect(slots.at(-1)).toBe(3);
  expect(beats()).toBe(2);
});

test("what was lost with an engine that went away is looked at again as soon as that is back", async () => {
  const { boot, engine, duty } = setup();
  boot.fitness.judged(["sandboxes_lost"], 0);

  engine.answers = false;
  for (let pass = 0; pass < 2; pass += 1) await duty.runOnce();
  expect(boot.fitness.isDue(1)).toBe(false);
  engine.answers = true;
  await duty.runOnce();

  expect(boot.fitness.isDue(1)).toBe(true);
});

test("an engine that answers but gives no sandbox stays sick, and is tried ever less often", async () => {
  const { boot, engine, slots, duty } = setup();
  engine.serves = false;

  doubtEngine(boot);
  for (let pass = 0; pass < 15; pass += 1) await duty.runOnce();

  expect(boot.engine_healthy).toBe(false);
  expect(slots.at(-1)).toBe(0);
  expect(engine.probes).toBe(4);
});

test("a run that the engine failed closes the gate before it is handed back (T2)", () => {
  const { boot, slots, beats } = setup();

  doubtEngine(boot);
  doubtEngine(boot);

  expect(slots.at(-1)).toBe(0);
  expect(beats()).toBe(1);
});
