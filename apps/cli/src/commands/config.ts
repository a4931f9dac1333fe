import { maskSecrets } from "@holdfast/chassis";
import type { Command } from "commander";
import type { CommandContext } from "../command-context.js";
import { EXIT } from "../exit-codes.js";

interface ConfigOptions {
  readonly json?: boolean;
}

/** Every setting of every program, as it holds now. */
async function effective(context: CommandContext): Promise<Record<string, unknown>> {
  const [worker, gateway] = await Promise.all([import("@holdfast/worker"), import("@holdfast/gateway")]);
  const { readWorkerConfig, WORKER_SECRETS } = worker;
  const { GATEWAY_SECRETS, readGatewayConfig } = gateway;
  const all = { ...readWorkerConfig(context.env), ...readGatewayConfig(context.env), ...context.config };
  return maskSecrets(all, [...GATEWAY_SECRETS, ...WORKER_SECRETS]);
}

async function showConfig(options: ConfigOptions, context: CommandContext): Promise<number> {
  const values = Object.entries(await effective(context)).sort(([left], [right]) => (left < right ? -1 : 1));
  if (options.json === true) context.console.line(JSON.stringify(Object.fromEntries(values)));
  else for (const [name, value] of values) context.console.line(`${name}=${value === undefined ? "" : String(value)}`);
  return EXIT.ok;
}

export function addConfig(program: Command, context: CommandContext): void {
  program
    .command("config")
    .summary("show the effective settings, secrets masked")
    .description("Show the effective settings of all programs, from the environment, secrets masked.")
    .option("--json", "one JSON object")
    .action(async (options: ConfigOptions) => context.exit(await showConfig(options, context)));
}
