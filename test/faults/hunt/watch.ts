/**
 * Watches one fleet for a task that waits beside free room. Its clock runs only while it is looked at, a bounded step a
 * look: on a machine that stands still it stands still too.
 */

import { dueIn } from "./due.js";
import type { HuntFleet } from "./fleet.js";
import { look, type Sight, type TaskSight } from "./sight.js";

const LOOK_MS = 250;
const STEP_MS_MAX = 400;
/** Beside free room, its job in the queue or asleep, where nothing was lost: without a wake-up it sleeps for 30 s. */
const WAIT_MS_MAX = 5_000;
/** The same where wake-ups may be lost on their way: a duty that failed comes again after 8 s at most. */
const ROUGH_WAIT_MS_MAX = 12_000;
/**
 * The same where whoever fetched the job, or was sent it, died or lost the answer: a lock of 10 s and a look each 5 s
 * find the job; a lease, an observation and a death that lasts find the boot.
 */
const HELD_MS_MAX = 25_000;

interface Waits {
  waits_ms: number;
  held_ms: number;
}

export interface Watch {
  /** What was wrong, in words. */
  readonly wrong: readonly string[];
  /** Milliseconds of its own clock. */
  now_ms(): number;
  /** The longest that anybody waited beside free room. */
  longest_ms(): number;
  last(): Sight | null;
  stop(): Promise<void>;
}

function serves(fleet: HuntFleet, boot_id: string): boolean {
  return fleet.workers.some(({ health, running }) => health === "up" && running.boot_id === boot_id);
}

/** Nobody can act on it: it is in the hands of one that is gone, or was not put on a queue yet. */
async function isHeld(fleet: HuntFleet, { queue, job }: TaskSight): Promise<boolean> {
  if (queue.startsWith("boot.") && !serves(fleet, queue.slice("boot.".length))) return true;
  const state = await fleet.queue.state(queue, job);
  return state !== "waiting" && state !== "parked";
}

export function watchFleet(fleet: HuntFleet, names: () => readonly string[]): Watch {
  const waiting = new Map<string, Waits>();
  const wrong: string[] = [];
  let now_ms = 0;
  let longest_ms = 0;
  let last: Sight | null = null;
  let before = performance.now();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  async function judge(due: readonly TaskSight[], step_ms: number): Promise<void> {
    const seen = new Set(due.map(({ name }) => name));
    for (const name of waiting.keys()) if (!seen.has(name)) waiting.delete(name);
    for (const task of due) {
      const waits = waiting.get(task.name) ?? { waits_ms: 0, held_ms: 0 };
      waiting.set(task.name, waits);
      const held = await isHeld(fleet, task);
      waits[held ? "held_ms" : "waits_ms"] += step_ms;
      if (!held) longest_ms = Math.max(longest_ms, waits.waits_ms);
      const waits_ms_max = fleet.wasPrompt() ? WAIT_MS_MAX : ROUGH_WAIT_MS_MAX;
      if (waits.waits_ms > waits_ms_max || waits.held_ms > HELD_MS_MAX) {
        wrong.push(`${task.name} waits beside free room: ${JSON.stringify({ ...waits, task })}`);
      }
      // Whoever stands behind one that is held waits with it.
      if (held) return;
    }
  }

  async function pass(): Promise<void> {
    const sight = await look(fleet.redis, fleet.prefix, names());
    const after = performance.now();
    const step_ms = Math.min(STEP_MS_MAX, after - before);
    before = after;
    now_ms += step_ms;
    last = sight;
    if (wrong.length === 0)
      await judge(
        dueIn(sight, (boot_id) => serves(fleet, boot_id)),
        step_ms,
      );
  }

  let looking: Promise<void> = Promise.resolve();
  function next(): void {
    if (stopped) return;
    timer = setTimeout(() => {
      looking = pass()
        .catch((error: unknown) => void wrong.push(`the watch failed: ${error}`))
        .then(next);
    }, LOOK_MS);
  }
  next();

  return {
    wrong,
    now_ms: () => now_ms,
    longest_ms: () => longest_ms,
    last: () => last,
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await looking;
    },
  };
}
