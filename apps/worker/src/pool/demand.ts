/** Which kinds of sandboxes were asked for of late: each use counts half after every two minutes. */
import { type PoolKey, poolKeyText } from "@holdfast/engine";

export interface Wish {
  readonly key: PoolKey;
  readonly score: number;
}

export interface Demand {
  note(key: PoolKey, now_ms: number): void;
  /** The highest first. */
  recent(now_ms: number): Wish[];
}

const HALF_LIFE_MS = 120_000;
const KEYS_MAX = 64;

interface Seen extends Wish {
  readonly at_ms: number;
}

const faded = ({ score, at_ms }: Seen, now_ms: number): number => score * 2 ** ((at_ms - now_ms) / HALF_LIFE_MS);

export function createDemand(): Demand {
  const seen = new Map<string, Seen>();

  function recent(now_ms: number): Wish[] {
    const wishes = [...seen.values()].map((each) => ({ key: each.key, score: faded(each, now_ms) }));
    return wishes.sort((left, right) => right.score - left.score);
  }

  return {
    note: (key, now_ms) => {
      const text = poolKeyText(key);
      const before = seen.get(text);
      seen.set(text, { key, score: 1 + (before === undefined ? 0 : faded(before, now_ms)), at_ms: now_ms });
      const weakest = seen.size > KEYS_MAX ? recent(now_ms).at(-1) : undefined;
      if (weakest !== undefined) seen.delete(poolKeyText(weakest.key));
    },
    recent,
  };
}
