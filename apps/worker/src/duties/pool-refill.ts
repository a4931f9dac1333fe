/**
 * Steers the pool and the slice of the host's limits that stands for it (design.md §11). The slice grows before a
 * sandbox is made and shrinks after one is proven gone, so that nothing waits that is not counted (E1, C1).
 */
import type { Duty } from "@holdfast/chassis";
import { type PoolKeyView, TIMES } from "@holdfast/contract";
import { fitsInto, NO_ROOM, type PoolKeyCounts, type PoolRoom, poolKeyText } from "@holdfast/engine";
import type { BootState } from "../boot/boot-state.js";
import { hasPlaces, slicesOf, wantedOf } from "../pool/wanted.js";
import { mayKeepPool } from "../pool/warm-starts.js";
import { passOn } from "../run/task-run.js";

type Steered = Pick<
  BootState,
  "boot_id" | "ledger" | "queue" | "lease" | "gate" | "warm" | "logger" | "metrics" | "pokePool"
>;

/** A host that had no room for the whole slice is asked again after this. */
const WHOLE_AGAIN_MS = 10_000;

/** What is unchanged is said again after this: the ledger may have lost it, and another worker's task may want room. */
const REPEAT_MS = 5_000;

const lesser = (a: PoolRoom, b: PoolRoom): PoolRoom => ({
  memory_mb: Math.min(a.memory_mb, b.memory_mb),
  pids: Math.min(a.pids, b.pids),
});
const greater = (a: PoolRoom, b: PoolRoom): PoolRoom => ({
  memory_mb: Math.max(a.memory_mb, b.memory_mb),
  pids: Math.max(a.pids, b.pids),
});

function viewOf({ key, ...counts }: PoolKeyCounts, pinned: ReadonlySet<string>): PoolKeyView {
  const { image, image_digest, runtime, resources } = key;
  return { image, image_digest, runtime, ...resources, pinned: pinned.has(poolKeyText(key)), ...counts };
}

/** The boot's slice as the ledger has it, as far as this worker knows. */
function createSlice(boot: Steered) {
  const { plan, pool } = boot.warm;
  const pinned = new Set(plan.pinned.map(poolKeyText));
  /** What the ledger counts for this boot at least. */
  let granted = NO_ROOM;
  let yields = false;
  let said = { text: "", at_ms: 0 };

  /** An idle worker repeats itself seldom; where a task lacks room here, or lately did, it asks at each pass. */
  function isSaidAlready(text: string): boolean {
    const now_ms = boot.lease.now();
    if (text === said.text && now_ms - said.at_ms < REPEAT_MS && !boot.warm.wanted_back && !yields) return true;
    said = { text, at_ms: now_ms };
    boot.warm.wanted_back = false;
    return false;
  }

  return {
    granted: () => granted,
    yields: () => yields,
    /** Never for less than there is: what is still to be removed stays counted. False where the host has no room. */
    ask: async (wanted: PoolRoom): Promise<boolean> => {
      const slice = greater(wanted, pool.room());
      const report = pool.counts().map((counts) => viewOf(counts, pinned));
      if (isSaidAlready(JSON.stringify([slice, report])) && fitsInto(wanted, granted)) return true;
      granted = lesser(granted, slice);
      const reply = await boot.ledger.boots.setSlice({ boot_id: boot.boot_id, ...slice, report });
      if (reply.kind === "fenced") return true;
      granted = { memory_mb: reply.memory_mb, pids: reply.pids };
      if (reply.yield && !yields) boot.logger.info("pool_yields");
      yields = reply.yield;
      await passOn(boot, reply.promotions);
      return fitsInto(wanted, granted);
    },
  };
}

export function poolRefillDuty(boot: Steered): Duty {
  const { plan, pool, demand } = boot.warm;
  const slice = createSlice(boot);
  const [whole = NO_ROOM, ...smaller] = slicesOf(plan);
  let desired = NO_ROOM;
  let whole_again_at_ms = Number.NEGATIVE_INFINITY;

  boot.warm.onLeft = () => {
    if (!fitsInto(slice.granted(), desired)) boot.pokePool();
  };

  function steer(): void {
    const now_ms = boot.lease.now();
    const keeps = !slice.yields() && mayKeepPool(boot.gate);
    const most = now_ms < whole_again_at_ms ? lesser(whole, slice.granted()) : whole;
    desired = keeps ? most : NO_ROOM;
    pool.steer(keeps ? wantedOf(plan, demand.recent(now_ms)) : [], lesser(desired, slice.granted()));
  }

  /** The host has no room for all of it: as much as there is room for. */
  async function askForLess(): Promise<void> {
    whole_again_at_ms = boot.lease.now() + WHOLE_AGAIN_MS;
    for (const less of smaller) {
      if (slice.yields() || fitsInto(less, slice.granted()) || (await slice.ask(less))) return;
    }
  }

  return {
    name: "pool_refill",
    every_ms: TIMES.pool_refill_ms,
    back_off_periods_max: 2,
    runOnce: async () => {
      if (!boot.lease.mayAct()) return {};
      steer();
      const fits = await slice.ask(desired);
      if (!fits && !slice.yields()) await askForLess();
      steer();
      return { memory_mb: slice.granted().memory_mb };
    },
  };
}

/** At the end of a boot, once its duties are over: what is left of the slice is what could not be proven gone. */
export async function giveBackSlice(
  boot: Pick<Steered, "boot_id" | "ledger" | "queue" | "warm" | "logger" | "metrics">,
): Promise<void> {
  if (!hasPlaces(boot.warm.plan)) return;
  const slice = boot.warm.pool.room();
  const reply = await boot.ledger.boots.setSlice({ boot_id: boot.boot_id, ...slice, report: [] });
  if (reply.kind === "set") await passOn(boot, reply.promotions);
}
