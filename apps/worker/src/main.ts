import { configOrExit, createLogger, runProgram } from "@holdfast/chassis";
import { readWorkerConfig } from "./config.js";
import { startWorker } from "./worker.js";

const config = configOrExit(() => readWorkerConfig());
const logger = createLogger({ name: "worker", level: config.HOLDFAST_LOG_LEVEL });

await runProgram({ name: "worker", logger, start: () => startWorker(config, { logger }) });
