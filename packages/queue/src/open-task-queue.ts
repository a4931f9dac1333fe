/** The task queue over BullMQ: one connection for all queues, and one pair more for each consumer. */
import { bootQueue, type Delivery, type Promotion } from "@holdfast/ledger";
import type { Queue } from "bullmq";
import { boundedCall } from "./bounded-call.js";
import { openConsumer } from "./consumer.js";
import type { QueueConnection } from "./fetching-worker.js";
import { encodeDelivery, jobIdOf } from "./job-codec.js";
import { countsOf, stateOf } from "./job-states.js";
import { promoteJob } from "./promote-job.js";
import { ShownQueue } from "./shown-queue.js";
import { type Consumer, SHARED_QUEUE, type TaskQueue, type TaskQueueOptions } from "./task-queue.js";
import { trimFinished } from "./trim-finished.js";

const DEFAULT_PREFIX = "bull";
const DEFAULT_FAIL_FAST_MS = 10_000;
/** Queues of boots come and go under names that are never used again. */
const QUEUES_OPEN_MAX = 64;
/** BullMQ writes an event for each change of a job whether anyone reads them or not. */
const EVENTS_KEPT = 1000;
const CLOSE_DEADLINE_MS = 2_000;
/** What a queue consists of while anybody uses it, and what is left of it when nobody does. */
const STATE_KEYS = [
  ...["meta", "id", "wait", "paused", "active", "delayed", "prioritized", "completed", "failed", "waiting-children"],
  ...["events", "stalled", "marker"],
];

export function openTaskQueue(options: TaskQueueOptions): TaskQueue {
  const { ledger, prefix = DEFAULT_PREFIX, fail_fast_ms = DEFAULT_FAIL_FAST_MS } = options;
  const connection = ledger.connection("queue");
  connection.on("error", () => {});
  const queues = openQueues(connection, prefix);
  const consumers = new Set<Consumer>();

  async function deliver(delivery: Delivery): Promise<void> {
    if (delivery.job_id !== jobIdOf(delivery, delivery.delivery)) return;
    const { name, data, opts } = encodeDelivery(delivery);
    await queues.get(delivery.queue).add(name, data, opts);
  }

  /** Backwards, since each takes the head: the first named ends ahead. */
  async function promote(promotions: readonly Promotion[]): Promise<number> {
    let woken = 0;
    for (const promotion of promotions.toReversed()) {
      if (await wake(promotion.queue, promotion.job_id)) woken += 1;
    }
    return woken;
  }

  const wake = (queue: string, job_id: string): Promise<boolean> => promoteJob(connection, queues.get(queue), job_id);

  return {
    deliver: (delivery) => boundedCall(fail_fast_ms, () => deliver(delivery)),
    promote: (promotions) => boundedCall(fail_fast_ms, () => promote(promotions)),
    state: (queue, job_id) => boundedCall(fail_fast_ms, () => stateOf(connection, queues.get(queue), job_id)),
    counts: (queue) => boundedCall(fail_fast_ms, () => countsOf(connection, queues.get(queue))),
    consume: async (wanted) => {
      const consumer = openConsumer({ connection: ledger.connection("consumer"), prefix, wake }, wanted);
      consumers.add(consumer);
      return {
        ...consumer,
        close: async (deadline_ms) => {
          await consumer.close(deadline_ms);
          consumers.delete(consumer);
        },
      };
    },
    removeBootQueue: (boot_id) => boundedCall(fail_fast_ms, () => removeQueue(connection, queues, bootQueue(boot_id))),
    trimFinished: (kept, dry_run = false) =>
      boundedCall(fail_fast_ms, () => trimFinished(queues.get(SHARED_QUEUE), kept, dry_run)),
    boardQueue: () => queues.get(SHARED_QUEUE),
    openBootQueue: (boot_id) => openQueue(connection, prefix, bootQueue(boot_id)),
    close: async () => {
      await Promise.all([...consumers].map((consumer) => consumer.close(CLOSE_DEADLINE_MS)));
      consumers.clear();
      connection.disconnect();
    },
  };
}

/** Looks first: most boots' queues were never used, and a removal begins by making what it removes. */
async function removeQueue(connection: QueueConnection, queues: OpenQueues, name: string): Promise<void> {
  const queue = queues.get(name);
  if ((await connection.exists(STATE_KEYS.map((key) => queue.toKey(key)))) === 0) return;
  await queue.obliterate({ force: true });
}

/** Writes nothing: the queue of a boot comes into being with its first job. */
function openQueue(connection: QueueConnection, prefix: string, name: string): Queue {
  const skipMetasUpdate = name !== SHARED_QUEUE;
  const streams = { events: { maxLen: EVENTS_KEPT } };
  const queue = new ShownQueue(name, { prefix, skipMetasUpdate, streams }, connection);
  queue.on("error", () => {});
  return queue;
}

interface OpenQueues {
  get(name: string): Queue;
}

function openQueues(connection: QueueConnection, prefix: string): OpenQueues {
  const open = new Map<string, Queue>();

  return {
    get: (name) => {
      const queue = open.get(name) ?? openQueue(connection, prefix, name);
      open.delete(name);
      open.set(name, queue);
      const [oldest] = open.keys();
      if (open.size > QUEUES_OPEN_MAX && oldest !== undefined) {
        open
          .get(oldest)
          ?.close()
          .catch(() => {});
        open.delete(oldest);
      }
      return queue;
    },
  };
}
