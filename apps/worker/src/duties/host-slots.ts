import type { Duty } from "@holdfast/chassis";
import type { HostId, HostView } from "@holdfast/contract";
import type { BootState } from "../boot/boot-state.js";

const EVERY_MS = 1_000;

/** Slots of the host that reservations of other boots hold, dead ones among them. */
export function slotsOfOthers(hosts: readonly HostView[], own: { boot_id: string; host_id: HostId }): number {
  const host = hosts.find(({ host_id }) => host_id === own.host_id);
  if (host === undefined) return 0;
  const held = host.boots.find(({ boot_id }) => boot_id === own.boot_id)?.held ?? 0;
  return Math.max(0, host.reserved.slots - held);
}

/** Several workers share a host's slots: each fetches only while the host has a free one, as far as it knows. */
export function hostSlotsDuty(boot: BootState): Duty {
  return {
    name: "host_slots",
    every_ms: EVERY_MS,
    back_off_periods_max: 2,
    runOnce: async () => {
      if (!boot.lease.mayAct()) return {};
      const others = slotsOfOthers(await boot.ledger.hosts.list(), boot);
      boot.gate.setOthers(others);
      return { others };
    },
  };
}
