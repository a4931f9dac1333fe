/** The least that BullMQ can do: a processor that does nothing. */
import { Worker } from "bullmq";
import { Redis } from "ioredis";
import { BARE_QUEUE, FINISHED_KEPT, readPlace } from "./place.js";

const { redis_url, queue_prefix, concurrency } = readPlace();
const connection = new Redis(redis_url, { maxRetriesPerRequest: null });
const options = { connection, prefix: queue_prefix, concurrency, removeOnComplete: FINISHED_KEPT };
const worker = new Worker(BARE_QUEUE, async () => {}, options);
await worker.waitUntilReady();
process.once("disconnect", () => process.exit());
process.once("SIGTERM", async () => {
  await worker.close();
  connection.disconnect();
  process.disconnect?.();
});
process.send?.("ready");
