/** What a pool should hold. Pure: what is pinned and how large the slice is stand fixed, the rest follows demand. */
import {
  fitsInto,
  type PoolKey,
  type PoolRoom,
  type PoolTarget,
  poolKeyText,
  roomFor,
  sumOfRooms,
} from "@holdfast/engine";
import type { Wish } from "./demand.js";

export interface PoolPlan {
  /** One member each. */
  readonly pinned: readonly PoolKey[];
  /** The default kind, once a place: what demand may put in its stead takes no more room than these. */
  readonly open: readonly PoolKey[];
}

export function hasPlaces({ pinned, open }: PoolPlan): boolean {
  return pinned.length + open.length > 0;
}

/** Used less than that of late, a kind is no demand; the default kind always counts as much. */
const SCORE_MIN = 1.5;

const roomOf = (keys: readonly PoolKey[]): PoolRoom => sumOfRooms(keys.map(({ resources }) => roomFor(resources)));

/** Slices that a host may have room for, the whole one first: each has one member less than the one before. */
export function slicesOf({ pinned, open }: PoolPlan): PoolRoom[] {
  const keys = [...pinned, ...open];
  return keys.map((_, less) => roomOf(keys.slice(0, keys.length - less)));
}

function candidatesOf({ open }: PoolPlan, recent: readonly Wish[]): Wish[] {
  const [default_key] = open;
  if (default_key === undefined) return [];
  const text = poolKeyText(default_key);
  const score = recent.find(({ key }) => poolKeyText(key) === text)?.score ?? 0;
  const others = recent.filter(({ key, score: own }) => own >= SCORE_MIN && poolKeyText(key) !== text);
  return [{ key: default_key, score: Math.max(score, SCORE_MIN) }, ...others];
}

/** Each place goes to whom it serves most: the score divided by the places had already, as seats are shared out. */
function shareOut(plan: PoolPlan, recent: readonly Wish[]): PoolKey[] {
  const candidates = candidatesOf(plan, recent);
  const room = roomOf(plan.open);
  const taken: PoolKey[] = [];
  for (const _ of plan.open) {
    const worth = ({ key, score }: Wish): number => score / (1 + taken.filter((each) => each === key).length);
    const fitting = candidates.filter(({ key }) => fitsInto(roomOf([...taken, key]), room));
    const [best] = fitting.sort((left, right) => worth(right) - worth(left));
    if (best === undefined) break;
    taken.push(best.key);
  }
  return taken;
}

/** In order of importance: the pinned ones, then what demand makes of the open places. */
export function wantedOf(plan: PoolPlan, recent: readonly Wish[]): PoolTarget[] {
  const targets = new Map<string, PoolTarget>();
  for (const key of [...plan.pinned, ...shareOut(plan, recent)]) {
    const text = poolKeyText(key);
    targets.set(text, { key, count: (targets.get(text)?.count ?? 0) + 1 });
  }
  return [...targets.values()];
}
