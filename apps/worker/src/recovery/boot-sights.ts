/** What the last looks told of other boots: who is DEAD and for how long, and who has a record at all. */
import type { BootId, HostId } from "@holdfast/contract";
import { LOST_TAIL_MS } from "@holdfast/ledger";
import type { Look } from "./observation.js";

export interface DeadBoot {
  readonly boot_id: BootId;
  readonly host_id: HostId;
  readonly reservations: number;
  readonly holds_slice: boolean;
  /**
   * How long it had been DEAD when the ledger told so. The time since does not count: a crash of Redis may have taken
   * back a DEAD that was young then.
   */
  readonly dead_ms: number;
  /** How long this worker has known it DEAD, on its own clock: never longer than it was. */
  readonly seen_ms: number;
}

export interface BootSights {
  take(look: Look): void;
  dead(now_ms: number): DeadBoot[];
  /** Those whose DEAD is older than the tail that Redis may lose: it stays, and may be acted on. */
  deadForGood(): ReadonlySet<BootId>;
  /** Boots with a record; null where the last look is too old to tell who is absent. */
  known(now_ms: number): ReadonlySet<BootId> | null;
}

const FRESH_MS = 5_000;

export function createBootSights(): BootSights {
  let last: Look | null = null;
  let first_seen = new Map<BootId, number>();

  function dead(now_ms: number): DeadBoot[] {
    if (last === null) return [];
    return last.sights.flatMap(({ boot_id, host_id, reservations, holds_slice, dead_ms }) => {
      if (dead_ms === null) return [];
      const seen_ms = now_ms - (first_seen.get(boot_id) ?? now_ms);
      return [{ boot_id, host_id, reservations, holds_slice, dead_ms, seen_ms }];
    });
  }

  return {
    take: (look) => {
      last = look;
      const ids = look.sights.filter(({ dead_ms }) => dead_ms !== null).map(({ boot_id }) => boot_id);
      first_seen = new Map(ids.map((boot_id) => [boot_id, first_seen.get(boot_id) ?? look.answered_at_ms]));
    },
    dead,
    deadForGood: () =>
      new Set(
        dead(0)
          .filter(({ dead_ms }) => dead_ms >= LOST_TAIL_MS)
          .map(({ boot_id }) => boot_id),
      ),
    known: (now_ms) => {
      if (last === null || now_ms - last.answered_at_ms > FRESH_MS) return null;
      return new Set(last.sights.map(({ boot_id }) => boot_id));
    },
  };
}
