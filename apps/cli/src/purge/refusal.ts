/** When a purge is refused: while somebody may still work with what it would remove. Pure. */
import type { Holding } from "@holdfast/engine";

export interface PurgeView {
  readonly found: readonly Holding[];
  /** Boots that serve this engine and may act, as far as a ledger could be asked. */
  readonly live_boots: readonly string[];
  /** Fleets whose host here the ledger knows: of the others nobody could say whether a worker lives. */
  readonly known_fleets: ReadonlySet<string>;
  /** Images are to go as well. */
  readonly images: boolean;
  readonly all_fleets: boolean;
  /** A fleet that was not named has something here. */
  readonly others_here: boolean;
  readonly force: boolean;
}

const FORCE = "or say --force, which ends whatever it runs";

/** Null where it may go on. */
export function refusalOf(view: PurgeView): string | null {
  if (view.images && view.others_here && !view.all_fleets) {
    return "images belong to no fleet, and another fleet has something here: leave --images out, or say --all-fleets";
  }
  if (view.force) return null;
  if (view.live_boots.length > 0) {
    return `a worker serves this engine (${view.live_boots.join(", ")}): end it first, ${FORCE}`;
  }
  const alive = view.found.filter((holding) => holding.alive && !view.known_fleets.has(holding.fleet_id ?? ""));
  if (alive.length === 0) return null;
  const count = alive.length === 1 ? "1 sandbox runs" : `${alive.length} sandboxes run`;
  return `${count} here, and no ledger says whether the worker lives: end it first, ${FORCE}`;
}
