import type { Duty } from "@holdfast/chassis";
import { TIMES } from "@holdfast/contract";
import type { BootState } from "../boot/boot-state.js";

/** Tells readers of events that a task's worker is alive. Nothing is decided by it. */
export function heartbeatsDuty(boot: BootState): Duty {
  return {
    name: "heartbeats",
    every_ms: TIMES.heartbeat_ms,
    runOnce: async () => {
      if (!boot.lease.mayAct()) return {};
      const running = boot.runs.all().filter(({ answered }) => !answered);
      await Promise.all(running.map(({ grant }) => boot.ledger.events.heartbeat(grant)));
      return { sent: running.length };
    },
  };
}
