/** A producer of bare BullMQ jobs. */
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { BARE_QUEUE, readPlace, serveBatches } from "./place.js";

const { redis_url, queue_prefix } = readPlace();
const connection = new Redis(redis_url, { maxRetriesPerRequest: null });
const queue = new Queue(BARE_QUEUE, { connection, prefix: queue_prefix });
serveBatches(
  (n, batch) => queue.add("noop", { task_id: `${batch.name}_${n}` }),
  async () => {
    await queue.close();
    connection.disconnect();
  },
);
