/** The real worker over the engine that costs nothing. */
import { createLogger } from "@holdfast/chassis";
import { readWorkerConfig, startWorker } from "@holdfast/worker";
import { openNoopEngine } from "./noop-engine.js";
import { readPlace } from "./place.js";

const { redis_url, prefix, queue_prefix, concurrency } = readPlace();
const config = readWorkerConfig({
  REDIS_URL: redis_url,
  HOLDFAST_PREFIX: prefix,
  HOLDFAST_QUEUE_PREFIX: queue_prefix,
  HOLDFAST_SLOTS: `${concurrency}`,
  HOLDFAST_POOL: "0",
  HOLDFAST_SELF_CHECK_SECONDS: "0",
  HOLDFAST_HEALTH_PORT: "0",
  HOLDFAST_LOG_LEVEL: "error",
});
const logger = createLogger({ name: "worker", level: config.HOLDFAST_LOG_LEVEL });
const worker = await startWorker(config, { logger, openEngine: openNoopEngine });
process.once("disconnect", () => process.exit());
process.once("SIGTERM", () => void worker.stop().then(() => process.disconnect?.()));
process.send?.("ready");
