import type { Delivery } from "@holdfast/ledger";
import { expect, test } from "vitest";
import { bootStateOf, OWN_BOOT } from "../../test/boot-state.js";
import type { Closed } from "../boot/gate.js";
import { ownQueueDuty } from "./own-queue.js";

const SENT = { workspace_id: "default", task_id: "task_1", delivery: 3, queue: "tasks", job_id: "x" } as Delivery;

async function pass(reasons: readonly Closed[]) {
  const [asked, delivered]: [string[], Delivery[]] = [[], []];
  const reroute = async (boot_id: string) => {
    asked.push(boot_id);
    return [SENT];
  };
  const deliver = async (delivery: Delivery) => void delivered.push(delivery);
  const boot = bootStateOf({ boots: { reroute }, queue: { deliver } });
  boot.lease.renewed(boot.lease.now(), 8_000);
  boot.gate.open("starting");
  for (const reason of reasons) boot.gate.close(reason);
  await ownQueueDuty(boot).runOnce();
  return { asked, delivered };
}

test.each(["draining", "host_draining", "engine_sick", "self_check"] as const)(
  "what was sent to a boot goes back while its gate is closed for: %s (T2)",
  async (reason) => {
    expect(await pass([reason])).toEqual({ asked: [OWN_BOOT], delivered: [SENT] });
  },
);

test.each([[[]], [["lease_ended"]], [["over"]]] as const)("and not with the gate closed for: %j", async (reasons) => {
  expect(await pass(reasons)).toEqual({ asked: [], delivered: [] });
});
