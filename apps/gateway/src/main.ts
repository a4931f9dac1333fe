import { createLogger, createMetrics, runProgram } from "@holdfast/chassis";
import { readGatewayConfig } from "./config.js";
import { startGateway } from "./gateway.js";

const config = readGatewayConfig();
const logger = createLogger({ name: "gateway", level: config.HOLDFAST_LOG_LEVEL });

await runProgram({
  name: "gateway",
  logger,
  start: () => startGateway(config, { logger, metrics: createMetrics() }),
});
