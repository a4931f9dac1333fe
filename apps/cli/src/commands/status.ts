import type { Command } from "commander";
import { addTaskOptions, type CommandContext, type TaskOptions, taskNameOf, withClient } from "../command-context.js";
import { EXIT } from "../exit-codes.js";
import { statusLines } from "../output/status-lines.js";

interface StatusOptions extends TaskOptions {
  readonly json?: boolean;
}

async function showStatus(task: string, options: StatusOptions, context: CommandContext): Promise<number> {
  const view = await withClient(context, options, (client) => client.status(taskNameOf(task, options)));
  if (options.json === true) context.console.line(JSON.stringify(view));
  else for (const line of statusLines(view, Date.now())) context.console.line(line);
  return EXIT.ok;
}

export function addStatus(program: Command, context: CommandContext): void {
  const command = program.command("status").summary("show where a task stands, and why it waits");
  addTaskOptions(command)
    .description("Show where a task stands: while it waits, whose limit keeps it, its place and what each host lacks.")
    .option("--json", "one JSON object")
    .action(async (task: string, options: StatusOptions) => context.exit(await showStatus(task, options, context)));
}
