import type { Command } from "commander";
import { addDataOption, type CommandContext } from "../command-context.js";
import type { GatewayOptions } from "../up/serve-gateway.js";

export function addGateway(program: Command, context: CommandContext): void {
  addDataOption(program.command("gateway"))
    .summary("serve the queue board, health and metrics")
    .description("Serve the queue board, health and metrics of a fleet. Logs go to standard error.")
    .option("--port <port>", "port to listen on (default: HOLDFAST_GATEWAY_PORT, else 7070)")
    .action(async (options: GatewayOptions) => (await import("../up/serve-gateway.js")).serveGateway(options, context));
}
