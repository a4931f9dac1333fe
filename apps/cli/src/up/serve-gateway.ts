import { createLogger, createMetrics, runProgram } from "@holdfast/chassis";
import { readGatewayConfig, startGateway } from "@holdfast/gateway";
import type { CommandContext, FleetOptions } from "../command-context.js";
import { findFleet } from "../fleet-address.js";
import { exitOnFailedStart } from "./failed-start.js";

export interface GatewayOptions extends FleetOptions {
  readonly port?: string;
}

/** Runs a gateway until it is told to end; never returns. */
export function serveGateway(options: GatewayOptions, context: CommandContext): Promise<void> {
  const { redis_url } = findFleet(context.config, options.data);
  const port = options.port === undefined ? {} : { HOLDFAST_GATEWAY_PORT: options.port };
  const config = readGatewayConfig({ ...context.env, REDIS_URL: redis_url, ...port });
  const logger = createLogger({ name: "gateway", level: config.HOLDFAST_LOG_LEVEL });
  const start = async () => {
    const gateway = await startGateway(config, { logger, metrics: createMetrics() });
    context.console.line(`holdfast gateway ready: http://${config.HOLDFAST_GATEWAY_HOST}:${gateway.port}`);
    return gateway;
  };
  return runProgram({ name: "gateway", logger, start: () => exitOnFailedStart(context.console, start) });
}
