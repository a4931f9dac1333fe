/** Redis may hold a command back for as long as it is away; callers of this package never wait that long. */
import { HoldfastError } from "@holdfast/contract";

/**
 * The call's value. Throws LEDGER_UNAVAILABLE after `deadline_ms` and for whatever Redis or its connection refuses;
 * coded errors and mistakes of our own pass as they are.
 */
export async function boundedCall<Value>(deadline_ms: number, call: () => Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new HoldfastError("LEDGER_UNAVAILABLE")), deadline_ms);
  });
  try {
    return await Promise.race([call(), expired]);
  } catch (error) {
    if (error instanceof HoldfastError || error instanceof TypeError || error instanceof RangeError) throw error;
    throw new HoldfastError("LEDGER_UNAVAILABLE", { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** True if `work` settled before `deadline_ms`; it is never left as an unhandled rejection. */
export async function settlesWithin(deadline_ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), deadline_ms);
  });
  const settled = work.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([settled, expired]);
  } finally {
    clearTimeout(timer);
  }
}
