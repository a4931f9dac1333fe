/** Chance that a seed repeats. */
export interface Chance {
  /** A whole number from 0 to `limit - 1`. */
  below(limit: number): number;
  once(probability: number): boolean;
  pick<T>(values: readonly T[]): T;
  /** Null where there is nothing to pick from. */
  maybe<T>(values: readonly T[]): T | null;
}

/** The generator mulberry32. */
export function createChance(seed: number): Chance {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const below = (limit: number): number => Math.floor(next() * limit);
  const maybe = <T>(values: readonly T[]): T | null => values[below(values.length)] ?? null;
  return {
    below,
    once: (probability) => next() < probability,
    maybe,
    pick(values) {
      const value = maybe(values);
      if (value === null) throw new Error("nothing to pick from");
      return value;
    },
  };
}
