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
}

/** Work waits, slots are free, and yet nothing was fetched for a while: the consumer is dead, whatever it says. */
export function isStarved(look: ConsumptionLook): boolean {
  return look.open && look.free_slots > 0 && look.waiting > 0 && look.idle_ms >= IDLE_MAX_MS;
}

async function rebuildIfStarved(boot: BootState, intake: Intake): Promise<number> {
  const { waiting } = await boot.queue.counts(intake.queue);
  const running = boot.runs.all().filter(({ answered }) => !answered).length;
  const free_slots = boot.gate.wanted(intake.source) - running;
  const look = { waiting, free_slots, idle_ms: intake.idleMs(), open: boot.gate.isOpen };
  if (!isStarved(look)) return 0;
  boot.logger.error("consumer_rebuilt", { ...look, source: intake.source });
  boot.metrics.consumer_rebuilds_total.add(1);
  await intake.rebuild();
  return 1;
}

export function consumptionWatchdog(boot: BootState, intakes: readonly Intake[]): Duty {
  return {
    name: "consumption_watchdog",
    every_ms: EVERY_MS,
    runOnce: async () => {
      let rebuilt = 0;
      for (const intake of intakes) rebuilt += await rebuildIfStarved(boot, intake);
      return { rebuilt };
    },
  };
}
