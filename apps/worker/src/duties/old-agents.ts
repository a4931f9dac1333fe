import type { Duty } from "@holdfast/chassis";
import type { BootState } from "../boot/boot-state.js";

const EVERY_MS = 10 * 60_000;

/**
 * Volumes of the agents of earlier versions go (Q1) while no other worker serves the engine: one of another version has
 * a volume of its own, also where it runs nothing just now.
 */
export function oldAgentsDuty(boot: BootState): Duty {
  return {
    name: "old_agents",
    every_ms: EVERY_MS,
    back_off_periods_max: 1,
    runOnce: async () => {
      if (!boot.engine_healthy || !boot.lease.mayAct()) return {};
      const host = (await boot.ledger.hosts.list()).find(({ host_id }) => host_id === boot.host_id);
      const others = host?.boots.filter(({ boot_id, state }) => state !== "DEAD" && boot_id !== boot.boot_id) ?? [];
      if (host === undefined || others.length > 0 || !boot.lease.mayAct()) return {};
      const removed = await boot.engine.removeOldAgents();
      if (removed > 0) boot.logger.info("old_agents_removed", { removed });
      boot.metrics.retention_removed_total.add(removed, { kind: "agent_volume" });
      return { removed };
    },
  };
}
