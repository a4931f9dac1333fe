/**
 * When a boot may be buried (L4): its lease has ended by Redis's clock, and an observer that was answered without a
 * break saw its counter stand still for one whole lease on its own clock. Pure: looks come in, boots to bury go out.
 */
import { type BootId, TIMES } from "@holdfast/contract";
import type { BootSight } from "@holdfast/ledger";

/** One answered look. Both times are of the observer's own clock, in milliseconds. */
export interface Look {
  readonly sent_at_ms: number;
  readonly answered_at_ms: number;
  readonly sights: readonly BootSight[];
}

export interface Buriable {
  readonly boot_id: BootId;
  readonly counter: number;
}

export interface Observation {
  /** Boots other than the observer's own that may be buried by what this look and those before it showed. */
  looked(look: Look): Buriable[];
  /** A look failed or was not sent: what was seen before counts for nothing. */
  broken(): void;
}

/** A silence of the observer longer than this may hide one of the ledger, in which nobody could beat. */
const GAP_MS_MAX = TIMES.beat_ms;

interface Standing {
  readonly counter: number;
  /** The counter was seen no later than this. */
  readonly since_ms: number;
}

export function createObservation(own_boot_id: BootId | null, lease_ms: number = TIMES.boot_lease_ms): Observation {
  let standing = new Map<BootId, Standing>();
  let answered_last_ms = Number.NEGATIVE_INFINITY;

  function isUnbroken({ sent_at_ms, answered_at_ms }: Look): boolean {
    return answered_at_ms - sent_at_ms <= GAP_MS_MAX && sent_at_ms - answered_last_ms <= GAP_MS_MAX;
  }

  return {
    looked: (look) => {
      const before = isUnbroken(look) ? standing : new Map<BootId, Standing>();
      const { sent_at_ms, answered_at_ms } = look;
      const buriable: Buriable[] = [];
      standing = new Map();
      answered_last_ms = answered_at_ms;
      for (const { boot_id, counter, state, lease_ended } of look.sights) {
        if (state === "DEAD" || boot_id === own_boot_id) continue;
        const earlier = before.get(boot_id);
        const stands = earlier?.counter === counter;
        standing.set(boot_id, stands ? earlier : { counter, since_ms: answered_at_ms });
        if (stands && lease_ended && sent_at_ms - earlier.since_ms >= lease_ms) buriable.push({ boot_id, counter });
      }
      return buriable;
    },
    broken: () => {
      standing = new Map();
      answered_last_ms = Number.NEGATIVE_INFINITY;
    },
  };
}
