import type { Duty } from "@holdfast/chassis";
import type { BootState } from "../boot/boot-state.js";
import type { Closed } from "../boot/gate.js";
import { passOn } from "../run/task-run.js";

const EVERY_MS = 1_000;
const BATCH_MAX = 100;
/** Closed for these, the gate may stay so for long, and the ledger lets what was sent here go elsewhere. */
const SENDS_BACK: ReadonlySet<Closed> = new Set(["draining", "host_draining", "engine_sick", "self_check"]);

/** What was sent to this boot goes back to where it came from: asked for while the boot takes nothing in (T2). */
export async function sendBack(boot: BootState): Promise<number> {
  const deliveries = await boot.ledger.boots.reroute(boot.boot_id, BATCH_MAX);
  for (const delivery of deliveries) await passOn(boot, [], delivery);
  if (deliveries.length > 0) boot.logger.info("tasks_rerouted", { sent: deliveries.length });
  return deliveries.length;
}

export function ownQueueDuty(boot: BootState): Duty {
  return {
    name: "own_queue",
    every_ms: EVERY_MS,
    runOnce: async () => {
      const takesNothing = boot.gate.reasons.some((reason) => SENDS_BACK.has(reason));
      if (!takesNothing || !boot.lease.mayAct()) return {};
      return { sent: await sendBack(boot) };
    },
  };
}
