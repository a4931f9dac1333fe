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

export function poolRefillDuty(boot: Steered): Duty {
  const { plan, pool, demand } = boot.warm;
  const pinned = new Set(plan.pinned.map(poolKeyText));
  const [whole = NO_ROOM, ...smaller] = slicesOf(plan);
  /** What the ledger counts for this boot at least. */
  let granted = NO_ROOM;
  let desired = NO_ROOM;
  let keeps = false;
  let yields = false;
  let whole_again_at_ms = Number.NEGATIVE_INFINITY;

  boot.warm.onLeft = () => {
    if (!fitsInto(granted, desired)) boot.pokePool();
  };

  function steer(): void {
    pool.steer(keeps ? wantedOf(plan, demand.recent(boot.lease.now())) : [], lesser(desired, granted));
  }

  /** Never for less than there is: what is still to be removed stays counted. False where the host has no room. */
  async function ask(wanted: PoolRoom): Promise<boolean> {
    const slice = greater(wanted, pool.room());
    granted = lesser(granted, slice);
    const report = pool.counts().map((counts) => viewOf(counts, pinned));
    const reply = await boot.ledger.boots.setSlice({ boot_id: boot.boot_id, ...slice, report });
    if (reply.kind === "fenced") return true;
    granted = { memory_mb: reply.memory_mb, pids: reply.pids };
    if (reply.yield && !yields) boot.logger.info("pool_yields");
    yields = reply.yield;
    await passOn(boot, reply.promotions);
    return fitsInto(wanted, granted);
  }

  /** The host has no room for all of it: as much as there is room for. */
  async function askForLess(): Promise<void> {
    whole_again_at_ms = boot.lease.now() + WHOLE_AGAIN_MS;
    for (const slice of smaller) {
      if (yields || fitsInto(slice, granted) || (await ask(slice))) return;
    }
  }

  function decide(): void {
    keeps = !yields && mayKeepPool(boot.gate);
    if (!keeps) desired = NO_ROOM;
    else desired = boot.lease.now() < whole_again_at_ms ? lesser(whole, granted) : whole;
  }

  return {
    name: "pool_refill",
    every_ms: TIMES.pool_refill_ms,
    back_off_periods_max: 2,
    runOnce: async () => {
      if (!boot.lease.mayAct()) return {};
      decide();
      steer();
      const fits = await ask(desired);
      if (!fits && !yields) await askForLess();
      decide();
      steer();
      return { memory_mb: granted.memory_mb };
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
