import type { Duty } from "@holdfast/chassis";
import type { BootState } from "../boot/boot-state.js";
import type { Intake } from "../intake/consume.js";

const IDLE_MAX_MS = 10_000;
const EVERY_MS = 2_000;

export interface ConsumptionLook {
  readonly waiting: number;
  readonly idle_ms: number;
  readonly free_slots: number;
  readonly open: boolean;
  /** Somebody paused the queue: nothing comes from it, and a new consumer would get nothing either. */
  readonly paused: boolean;
}

/** Work waits, slots are free, and yet nothing was fetched for a while: the consumer is dead, whatever it says. */
export function isStarved(look: ConsumptionLook): boolean {
  return look.open && !look.paused && look.free_slots > 0 && look.waiting > 0 && look.idle_ms >= IDLE_MAX_MS;
}

async function look(boot: BootState, intake: Intake): Promise<ConsumptionLook> {
  const { waiting, paused } = await boot.queue.counts(intake.queue);
  const running = boot.runs.all().filter(({ answered }) => !answered).length;
  const free_slots = boot.gate.wanted(intake.source) - running;
  return { waiting, paused, free_slots, idle_ms: intake.idleMs(), open: boot.gate.isOpen };
}

async function rebuild(boot: BootState, intake: Intake, seen: ConsumptionLook): Promise<void> {
  boot.logger.error("consumer_rebuilt", { ...seen, source: intake.source });
  boot.metrics.consumer_rebuilds_total.add(1);
  await intake.rebuild();
}

export function consumptionWatchdog(boot: BootState, intakes: readonly Intake[]): Duty {
  const paused = new Set<Intake>();

  /** Once for each change: only an operator knows whether it is meant. */
  function tellPause(intake: Intake, seen: ConsumptionLook): void {
    if (seen.paused === paused.has(intake)) return;
    if (seen.paused) paused.add(intake);
    else paused.delete(intake);
    boot.logger.warn(seen.paused ? "queue_paused" : "queue_resumed", { queue: intake.queue, waiting: seen.waiting });
  }

  return {
    name: "consumption_watchdog",
    every_ms: EVERY_MS,
    runOnce: async () => {
      let rebuilt = 0;
      for (const intake of intakes) {
        const seen = await look(boot, intake);
        tellPause(intake, seen);
        if (!isStarved(seen)) continue;
        await rebuild(boot, intake, seen);
        rebuilt += 1;
      }
      return { rebuilt };
    },
  };
}
