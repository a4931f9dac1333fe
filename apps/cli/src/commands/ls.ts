import type { TaskView } from "@holdfast/contract";
import type { Command } from "commander";
import { addDataOption, type CommandContext, type TaskOptions, withClient, workspaceOf } from "../command-context.js";
import { CommandFault } from "../command-fault.js";
import { EXIT } from "../exit-codes.js";
import { listing, span } from "../output/table.js";

interface ListOptions extends TaskOptions {
  readonly limit: string;
  readonly json?: boolean;
}

const LIMIT_MAX = 1_000;
const HEADINGS = ["TASK", "STATUS", "ATTEMPT", "IMAGE", "AGE", "NOTE"];

function rowOf(view: TaskView): string[] {
  const note = view.outcome?.error?.code ?? view.waiting?.reason ?? "";
  const age = span(Date.now() - view.accepted_at_ms);
  return [view.task_id, view.status, String(view.attempt), view.image, age, note];
}

async function list(options: ListOptions, context: CommandContext): Promise<number> {
  const limit = Number(options.limit);
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    throw new CommandFault("usage", `--limit ${options.limit}: give a number from 1 to ${LIMIT_MAX}`);
  }
  const workspace_id = workspaceOf(options);
  const views = await withClient(context, options, (client) => client.list({ workspace_id, limit }));
  for (const line of listing(views, options.json, HEADINGS, rowOf)) context.console.line(line);
  return EXIT.ok;
}

export function addLs(program: Command, context: CommandContext): void {
  const command = program.command("ls").summary("list tasks, newest first");
  addDataOption(command)
    .description("List tasks, newest first.")
    .option("--workspace <id>", "workspace to list (default: default)")
    .option("--limit <count>", "how many at most", "50")
    .option("--json", "one JSON object a line")
    .action(async (options: ListOptions) => context.exit(await list(options, context)));
}
