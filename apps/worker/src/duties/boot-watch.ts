/** Looks at every boot each second, and buries those that stood still for a whole lease (L4). */
import { type Duty, deadline } from "@holdfast/chassis";
import { type BootId, TIMES } from "@holdfast/contract";
import { type BootSight, LOST_TAIL_MS } from "@holdfast/ledger";
import { type Buriable, createObservation } from "../recovery/observation.js";
import { passOn } from "../run/task-run.js";
import type { Care } from "./care.js";

/** A DEAD is looked at as soon as it is old enough to act on, not at the next pass. */
const JUST_AFTER_MS = 20;

export function bootWatchDuty(care: Care): Duty {
  const observation = createObservation(care.boot_id);
  let asked: Promise<readonly BootSight[]> | null = null;
  let forGood: ReadonlySet<BootId> = new Set();

  /** Null where no answer came in time; the question is then waited for and not put again. */
  async function ask(): Promise<readonly BootSight[] | null> {
    asked ??= care.ledger.boots.look().finally(() => {
      asked = null;
    });
    return deadline<readonly BootSight[] | null>(asked, TIMES.beat_ms, () => null).catch((error: unknown) => {
      care.logger.warn("look_failed", { error });
      return null;
    });
  }

  async function bury({ boot_id, counter }: Buriable): Promise<number> {
    const reply = await care.ledger.boots.bury(boot_id, counter);
    if (reply.kind === "alive" || reply.kind === "unknown") return 0;
    await passOn(care, reply.promotions);
    if (reply.kind === "already") return 0;
    care.logger.warn("boot_buried", { dead_boot_id: boot_id });
    care.metrics.boots_buried_total.add(1);
    return 1;
  }

  function wakeOthers(sights: readonly BootSight[]): void {
    for (const { dead_ms } of sights) {
      if (dead_ms === null || dead_ms >= LOST_TAIL_MS) continue;
      setTimeout(() => care.pokeBootWatch(), LOST_TAIL_MS - dead_ms + JUST_AFTER_MS).unref();
    }
    const before = forGood;
    forGood = care.sights.deadForGood();
    if ([...forGood].every((boot_id) => before.has(boot_id))) return;
    care.pokeSweep();
    care.pokeRecovery();
  }

  return {
    name: "boot_watch",
    every_ms: TIMES.bury_look_ms,
    back_off_periods_max: 1,
    runOnce: async () => {
      const isFirst = asked === null;
      const sent_at_ms = care.lease.now();
      const sights = care.lease.mayAct() && isFirst ? await ask() : null;
      if (sights === null) {
        observation.broken();
        return { unanswered: 1 };
      }
      const look = { sent_at_ms, answered_at_ms: care.lease.now(), sights };
      care.sights.take(look);
      wakeOthers(sights);
      let buried = 0;
      for (const buriable of observation.looked(look)) buried += await bury(buriable);
      return { seen: sights.length, buried };
    },
  };
}
