/** Duties that keep tasks moving whatever was lost between ledger and queue (T2). */
import type { Duty } from "@holdfast/chassis";
import { TIMES } from "@holdfast/contract";
import { healDelivery } from "@holdfast/queue";
import { passOn } from "../run/task-run.js";
import type { Care } from "./care.js";

const BATCH_MAX = 100;

/** A task that waits while its job is finished, failed or gone gets a new delivery. */
export function healingDuty(care: Care): Duty {
  return {
    name: "healing",
    every_ms: TIMES.healing_ms,
    runOnce: async () => {
      if (!care.lease.mayAct()) return {};
      const due = await care.ledger.tasks.dueForHealing(BATCH_MAX);
      let redelivered = 0;
      for (const delivery of due) {
        const healing = await healDelivery(care.queue, care.ledger.tasks, delivery);
        if (healing.kind !== "redelivered") continue;
        redelivered += 1;
        const { workspace_id, task_id } = delivery;
        care.logger.warn("task_redelivered", { workspace_id, task_id, delivery: healing.delivery.delivery });
      }
      return { due: due.length, redelivered };
    },
  };
}

/** Ends tasks that waited longer than their queue_timeout_seconds. */
export function queueTimeoutsDuty(care: Care): Duty {
  return {
    name: "queue_timeouts",
    every_ms: TIMES.queue_timeouts_ms,
    runOnce: async () => {
      if (!care.lease.mayAct()) return {};
      const { ended, promotions } = await care.ledger.tasks.expireQueued(BATCH_MAX);
      for (const name of ended) care.logger.info("task_queue_timeout", { ...name });
      await passOn(care, promotions);
      return { ended: ended.length };
    },
  };
}

/** Wakes the oldest waiters that have room by now, also where the wake-up itself was lost. */
export function waitingHeadsDuty(care: Care): Duty {
  return {
    name: "waiting_heads",
    every_ms: TIMES.healing_ms,
    runOnce: async () => {
      if (!care.lease.mayAct()) return {};
      const heads = await care.ledger.tasks.headsWithRoom();
      const promoted = heads.length > 0 ? await care.queue.promote(heads) : 0;
      care.metrics.promotions_total.add(promoted, { woken_by: "duty" });
      return { heads: heads.length, promoted };
    },
  };
}
