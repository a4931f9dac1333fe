import { createMetrics, silentLogger } from "@holdfast/chassis";
import { expect, test } from "vitest";
import type { BootState } from "../boot/boot-state.js";
import { createGate } from "../boot/gate.js";
import { createWorkerMetrics } from "../worker-metrics.js";
import { engineHealthDuty } from "./engine-health.js";

test("two missed pings make the engine sick and close the gate at once; one answer opens it", async () => {
  let answers = true;
  let beats = 0;
  const slots: number[] = [];
  const gate = createGate(3);
  gate.open("starting");
  gate.attach({ setSlots: (wanted) => slots.push(wanted) });
  const boot = {
    engine: { ping: async () => answers },
    engine_healthy: true,
    gate,
    logger: silentLogger(),
    metrics: createWorkerMetrics(createMetrics()),
    pokeBeat: () => {
      beats += 1;
    },
  } as unknown as BootState;
  const duty = engineHealthDuty(boot);

  answers = false;
  await duty.runOnce();
  expect(boot.engine_healthy).toBe(true);
  await duty.runOnce();

  expect(boot.engine_healthy).toBe(false);
  expect(slots.at(-1)).toBe(0);
  answers = true;
  await duty.runOnce();

  expect(boot.engine_healthy).toBe(true);
  expect(slots.at(-1)).toBe(3);
  expect(beats).toBe(2);
});
