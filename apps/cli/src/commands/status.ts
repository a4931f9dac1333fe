import type { TaskView } from "@holdfast/contract";
import type { Command } from "commander";
import { addTaskOptions, type CommandContext, type TaskOptions, taskNameOf, withClient } from "../command-context.js";
import { EXIT } from "../exit-codes.js";
import { facts, span } from "../output/table.js";

interface StatusOptions extends TaskOptions {
  readonly json?: boolean;
}

export function waitingOf(view: TaskView, now_ms: number): string | null {
  if (view.waiting === null) return null;
  return `${view.waiting.message} (${view.waiting.reason}, for ${span(now_ms - view.waiting.since_ms)})`;
}

function factsOf(view: TaskView): string[] {
  const { outcome } = view;
  return facts([
    ["task_id", view.task_id],
    ["workspace", view.workspace_id],
    ["status", view.status],
    ["waiting", waitingOf(view, Date.now())],
    ["cancel", view.cancel_requested && outcome === null ? "requested" : null],
    ["image", view.image],
    ["host", view.host_id],
    ["attempt", String(view.attempt)],
    ["delivery", String(view.delivery)],
    ["accepted", new Date(view.accepted_at_ms).toISOString()],
    ["exit_code", outcome?.exit_code === undefined || outcome.exit_code === null ? null : String(outcome.exit_code)],
    ["error", outcome?.error?.summary ?? null],
  ]);
}

async function showStatus(task: string, options: StatusOptions, context: CommandContext): Promise<number> {
  const view = await withClient(context, options, (client) => client.status(taskNameOf(task, options)));
  if (options.json === true) context.console.line(JSON.stringify(view));
  else for (const line of factsOf(view)) context.console.line(line);
  return EXIT.ok;
}

export function addStatus(program: Command, context: CommandContext): void {
  const command = program.command("status").summary("show where a task stands, and why it waits");
  addTaskOptions(command)
    .description("Show where a task stands, and why it waits.")
    .option("--json", "one JSON object")
    .action(async (task: string, options: StatusOptions) => context.exit(await showStatus(task, options, context)));
}
