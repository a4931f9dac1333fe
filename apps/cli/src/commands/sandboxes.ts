import type { SandboxView } from "@holdfast/contract";
import type { Command } from "commander";
import { addDataOption, type CommandContext, type FleetOptions, withClient } from "../command-context.js";
import { EXIT } from "../exit-codes.js";
import { listing } from "../output/table.js";

interface SandboxesOptions extends FleetOptions {
  readonly json?: boolean;
}

function rowOf(sandbox: SandboxView): string[] {
  const { sandbox_id, state, workspace_id, task_id, attempt, host_id, cleanup_pending } = sandbox;
  const task = `${workspace_id}/${task_id}`;
  return [sandbox_id, state, task, String(attempt), host_id, cleanup_pending ? "removal pending" : ""];
}

const HEADINGS = ["SANDBOX", "STATE", "TASK", "ATTEMPT", "HOST", "NOTE"];

async function showSandboxes(options: SandboxesOptions, context: CommandContext): Promise<number> {
  const found = await withClient(context, options, (client) => client.sandboxes());
  for (const line of listing(found, options.json, HEADINGS, rowOf)) context.console.line(line);
  return EXIT.ok;
}

export function addSandboxes(program: Command, context: CommandContext): void {
  const command = program.command("sandboxes").summary("list sandboxes that hold capacity");
  addDataOption(command)
    .description("List sandboxes that hold capacity, those being removed included.")
    .option("--json", "one JSON object a line")
    .action(async (options: SandboxesOptions) => context.exit(await showSandboxes(options, context)));
}
