import type { Duty } from "@holdfast/chassis";
import type { HostId, HostView } from "@holdfast/contract";
import type { BootState } from "../boot/boot-state.js";

const EVERY_MS = 1_000;

/** Slots of the host as it is limited, and those that reservations of other boots hold, dead ones among them. */
export function slotsOfHost(hosts: readonly HostView[], own: { boot_id: string; host_id: HostId }) {
  const host = hosts.find(({ host_id }) => host_id === own.host_id);
  if (host === undefined) return null;
  const held = host.boots.find(({ boot_id }) => boot_id === own.boot_id)?.held ?? 0;
  return { slots: host.limits.slots, others: Math.max(0, host.reserved.slots - held) };
}

/** Several workers share a host's slots: each fetches only while the host has a free one, as far as it knows. */
export function hostSlotsDuty(boot: BootState): Duty {
  return {
    name: "host_slots",
    every_ms: EVERY_MS,
    back_off_periods_max: 2,
    runOnce: async () => {
      if (!boot.lease.mayAct()) return {};
      const host = slotsOfHost(await boot.ledger.hosts.list(), boot);
      if (host === null) return {};
      boot.gate.setHost(host.slots, host.others);
      return { others: host.others };
    },
  };
}
