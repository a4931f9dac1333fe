import { TIMES } from "@holdfast/contract";
import { expect, test } from "vitest";
import { bootStateOf, handClock, OWN_BOOT, OWN_HOST } from "../../test/boot-state.js";
import { oldAgentsDuty } from "./old-agents.js";

function setup(boots: readonly { boot_id: string; state: string }[]) {
  let asked = 0;
  const removeOldAgents = async () => {
    asked += 1;
    return 2;
  };
  const hosts = { list: async () => [{ host_id: OWN_HOST, boots }] };
  const boot = bootStateOf({ hosts, engine: { removeOldAgents }, clock: handClock() });
  boot.lease.renewed(boot.lease.now(), TIMES.boot_lease_ms);
  return { boot, duty: oldAgentsDuty(boot), asked: () => asked };
}

test("old agents go while this worker alone serves the engine; dead ones do not count (Q1)", async () => {
  const { boot, duty, asked } = setup([
    { boot_id: OWN_BOOT, state: "LIVE" },
    { boot_id: "boot_dead", state: "DEAD" },
  ]);

  await duty.runOnce();

  expect(asked()).toBe(1);
  expect(await boot.registry.text()).toContain('holdfast_retention_removed_total{kind="agent_volume"} 2');
});

test("they stay while another worker may be of their version, drains or not, and while the engine is sick", async () => {
  const { duty, asked } = setup([
    { boot_id: OWN_BOOT, state: "LIVE" },
    { boot_id: "boot_2", state: "DRAINING" },
  ]);
  await duty.runOnce();
  const sick = setup([{ boot_id: OWN_BOOT, state: "LIVE" }]);
  sick.boot.engine_healthy = false;
  await sick.duty.runOnce();

  expect([asked(), sick.asked()]).toEqual([0, 0]);
});
