/** Resolves with what `promise` gives, or with what `onLate` gives once `ms` have passed. Holds no process open. */
export async function deadline<T>(promise: Promise<T>, ms: number, onLate: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<T>((resolve, reject) => {
    timer = setTimeout(() => {
      try {
        resolve(onLate());
      } catch (error) {
        reject(error);
      }
    }, ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * What `work` gives, or null once `signal` is aborted. Nothing of it stays with a signal that outlives the work, as the
 * reactions of a race stay with a promise that never settles.
 */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => resolve(null);
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", giveUp));
  });
}

/** Waits `ms`, or until `signal` is aborted; never rejects. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end, { once: true });
  });
}

export interface UntilOptions {
  readonly every_ms: number;
  readonly within_ms: number;
}

/** Asks `condition` again and again; true once it held, false when `within_ms` passed without. */
export async function until(condition: () => boolean | Promise<boolean>, options: UntilOptions): Promise<boolean> {
  const end = performance.now() + options.within_ms;
  for (;;) {
    if (await condition()) return true;
    const left = end - performance.now();
    if (left <= 0) return false;
    await pause(Math.min(options.every_ms, left));
  }
}
