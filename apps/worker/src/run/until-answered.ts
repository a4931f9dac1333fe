/** Calls of the ledger that must not be lost are repeated; a refusal is believed with a fresh lease only. */
import { type Logger, pause } from "@holdfast/chassis";
import type { Lease } from "../boot/lease.js";
import type { WorkerMetrics } from "../worker-metrics.js";

export interface LedgerCaller {
  readonly lease: Lease;
  readonly logger: Logger;
  readonly metrics: Pick<WorkerMetrics, "fenced_calls_total">;
  /** Asks for a beat now: its answer tells whether the lease stands. */
  pokeBeat(): void;
}

const RETRY_MS = 200;
const RETRY_MS_MAX = 2_000;

interface Reply {
  readonly kind: string;
}

/**
 * A call that waited for Redis to come back may be refused only because the lease had lapsed meanwhile. So `fenced`
 * is asked again after a beat was answered; every call here is safe to repeat.
 */
export async function confirmed<T extends Reply>(
  caller: LedgerCaller,
  name: string,
  call: () => Promise<T>,
): Promise<T> {
  const early = await call();
  if (early.kind !== "fenced") return early;
  caller.lease.suspend();
  caller.pokeBeat();
  const reply = (await caller.lease.whenMayAct()) ? await call() : early;
  if (reply.kind === "fenced") caller.metrics.fenced_calls_total.add(1, { call: name });
  return reply;
}

/**
 * Repeats one call, the same each time, until it is answered. Nothing is sent past the lease (L3).
 * Null where this boot may never act again, or the run was abandoned.
 */
export async function untilAnswered<T extends Reply>(
  caller: LedgerCaller,
  run: { readonly abandoned: boolean },
  name: string,
  call: () => Promise<T>,
): Promise<T | null> {
  for (let tries = 0; ; tries += 1) {
    if (!(await caller.lease.whenMayAct()) || run.abandoned) return null;
    try {
      return await confirmed(caller, name, call);
    } catch (error) {
      if (tries === 0) caller.logger.warn("ledger_call_repeated", { call: name, error });
      await pause(Math.min(RETRY_MS * 2 ** tries, RETRY_MS_MAX));
    }
  }
}
