import { HoldfastError } from "@holdfast/contract";
import type { Promotion } from "@holdfast/ledger";
import type { TaskQueue } from "@holdfast/queue";

/** What the ledger has stored stands whatever becomes of this: a sleeping job wakes by itself and finds it. */
export async function wake(queue: Pick<TaskQueue, "promote">, promotions: readonly Promotion[]): Promise<void> {
  try {
    await queue.promote(promotions);
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "LEDGER_UNAVAILABLE") throw error;
  }
}
