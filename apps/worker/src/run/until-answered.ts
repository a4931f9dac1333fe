import { pause } from "@holdfast/chassis";
import type { AttemptDeps } from "./attempt.js";
import type { Orders } from "./orders.js";

const RETRY_MS = 200;
const RETRY_MS_MAX = 2_000;

/**
 * Repeats one call of the ledger, the same each time, until it is answered. Nothing is sent past the lease (L3).
 * Null where this boot may never act again, or the run was abandoned.
 */
export async function untilAnswered<T>(
  deps: Pick<AttemptDeps, "lease" | "logger">,
  orders: Pick<Orders, "abandoned">,
  name: string,
  call: () => Promise<T>,
): Promise<T | null> {
  for (let tries = 0; ; tries += 1) {
    if (!(await deps.lease.whenMayAct()) || orders.abandoned) return null;
    try {
      return await call();
    } catch (error) {
      if (tries === 0) deps.logger.warn("ledger_call_repeated", { call: name, error });
      await pause(Math.min(RETRY_MS * 2 ** tries, RETRY_MS_MAX));
    }
  }
}
