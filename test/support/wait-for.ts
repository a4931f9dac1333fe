/** Waits for a condition, never for a time: level, not edge, and always with a bound. */
import { performance } from "node:perf_hooks";

export interface WaitOptions {
  readonly bound_ms: number;
  /** What is waited for, for the message of a failure. */
  readonly what: string;
  readonly look_ms?: number;
}

/**
 * Looks until `condition` gives something truthy, and returns that.
 * Throws after `bound_ms` with the last thing seen, or with the last error of the look.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  options: WaitOptions,
): Promise<Exclude<T, false | null | undefined>> {
  const end = performance.now() + options.bound_ms;
  let seen: unknown;
  do {
    try {
      const value = await condition();
      if (value) return value as Exclude<T, false | null | undefined>;
      seen = value;
    } catch (error) {
      seen = error;
    }
    await new Promise((resolve) => setTimeout(resolve, options.look_ms ?? 20));
  } while (performance.now() < end);
  const last = seen instanceof Error ? seen.message : JSON.stringify(seen);
  throw new Error(`${options.what}: not within ${options.bound_ms} ms; last seen: ${last}`);
}
