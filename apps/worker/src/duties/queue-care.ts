/** Duties that keep tasks moving whatever was lost between ledger and queue (T2). */
import type { Duty } from "@holdfast/chassis";
import { TIMES } from "@holdfast/contract";
import { healDelivery } from "@holdfast/queue";
import type { BootState } from "../boot/boot-state.js";
import { passOn } from "../run/task-run.js";

const BATCH_MAX = 100;

/** A task that waits while its job is finished, failed or gone gets a new delivery. */
export function healingDuty(boot: BootState): Duty {
  return {
    name: "healing",
    every_ms: TIMES.healing_ms,
    runOnce: async () => {
      if (!boot.lease.mayAct()) return {};
      const due = await boot.ledger.tasks.dueForHealing(BATCH_MAX);
      let redelivered = 0;
      for (const delivery of due) {
        const healing = await healDelivery(boot.queue, boot.ledger.tasks, delivery);
        if (healing.kind !== "redelivered") continue;
        redelivered += 1;
        const { workspace_id, task_id } = delivery;
        boot.logger.warn("task_redelivered", { workspace_id, task_id, delivery: healing.delivery.delivery });
      }
      return { due: due.length, redelivered };
    },
  };
}

/** Ends tasks that waited longer than their queue_timeout_seconds. */
export function queueTimeoutsDuty(boot: BootState): Duty {
  return {
    name: "queue_timeouts",
    every_ms: TIMES.queue_timeouts_ms,
    runOnce: async () => {
      if (!boot.lease.mayAct()) return {};
      const { ended, promotions } = await boot.ledger.tasks.expireQueued(BATCH_MAX);
      for (const name of ended) boot.logger.info("task_queue_timeout", { ...name });
      await passOn(boot, promotions);
      return { ended: ended.length };
    },
  };
}

/** Wakes the oldest waiters that have room by now, also where the wake-up itself was lost. */
export function waitingHeadsDuty(boot: BootState): Duty {
  return {
    name: "waiting_heads",
    every_ms: TIMES.healing_ms,
    runOnce: async () => {
      if (!boot.lease.mayAct()) return {};
      const heads = await boot.ledger.tasks.headsWithRoom();
      const promoted = heads.length > 0 ? await boot.queue.promote(heads) : 0;
      boot.metrics.promotions_total.add(promoted, { woken_by: "duty" });
      return { heads: heads.length, promoted };
    },
  };
}
