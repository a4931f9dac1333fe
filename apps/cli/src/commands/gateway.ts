import { createLogger, createMetrics, runProgram } from "@holdfast/chassis";
import { readGatewayConfig, startGateway } from "@holdfast/gateway";
import type { Command } from "commander";
import { addDataOption, type CommandContext, type FleetOptions } from "../command-context.js";
import { findFleet } from "../fleet-address.js";
import { exitOnFailedStart } from "../up/failed-start.js";

interface GatewayOptions extends FleetOptions {
  readonly port?: string;
}

function serve(options: GatewayOptions, context: CommandContext): Promise<void> {
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

export function addGateway(program: Command, context: CommandContext): void {
  addDataOption(program.command("gateway"))
    .summary("serve the queue board, health and metrics")
    .description("Serve the queue board, health and metrics of a fleet. Logs go to standard error.")
    .option("--port <port>", "port to listen on (default: HOLDFAST_GATEWAY_PORT, else 7070)")
    .action((options: GatewayOptions) => serve(options, context));
}
