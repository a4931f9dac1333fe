/**
 * A supervisor takes nothing, so it needs no boot and no lease of the ledger. It acts by what the ledger told it as a
 * boot does, and so by the same bound: each answer lets it act for as long as a beat would.
 */
import type { Duty } from "@holdfast/chassis";
import { type FleetId, TIMES } from "@holdfast/contract";
import type { Ledger } from "@holdfast/ledger";
import type { Lease } from "../boot/lease.js";

export interface ContactDeps {
  readonly ledger: Pick<Ledger, "fleet">;
  readonly lease: Pick<Lease, "now" | "renewed">;
  readonly fleet_id: FleetId;
}

/** Asks as often as a boot beats. Throws where the ledger is another fleet's by now: nothing is renewed then. */
export function contactDuty({ ledger, lease, fleet_id }: ContactDeps): Duty {
  return {
    name: "contact",
    every_ms: TIMES.beat_ms,
    back_off_periods_max: 1,
    runOnce: async () => {
      const sent_at_ms = lease.now();
      const fleet = await ledger.fleet(fleet_id, false);
      if (fleet.fleet_id !== fleet_id) throw new Error(`this ledger is now of the fleet ${fleet.fleet_id}`);
      lease.renewed(sent_at_ms, TIMES.boot_lease_ms);
      return {};
    },
  };
}
