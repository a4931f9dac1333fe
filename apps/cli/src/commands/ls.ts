import type { TaskList } from "@holdfast/client";
import { isTerminal, TASK_STATUSES, type TaskStatus, type TaskView } from "@holdfast/contract";
import type { Command } from "commander";
import { addDataOption, type CommandContext, type TaskOptions, withClient, workspaceOf } from "../command-context.js";
import { CommandFault } from "../command-fault.js";
import { EXIT } from "../exit-codes.js";
import { listing, span } from "../output/table.js";
import { parseSeconds } from "../request-options.js";

interface ListOptions extends TaskOptions {
  readonly limit: string;
  readonly status?: readonly string[];
  readonly image?: string;
  readonly since?: string;
  readonly json?: boolean;
}

const LIMIT_MAX = 1_000;
const HEADINGS = ["TASK", "STATUS", "PHASE", "ATTEMPT", "IMAGE", "AGE", "NOTE"];

const GROUPS = new Map<string, readonly TaskStatus[]>([
  ["waiting", ["PENDING"]],
  ["running", ["RUNNING"]],
  ["ended", TASK_STATUSES.filter(isTerminal)],
]);

/** Statuses of `--status`: names of statuses or groups, repeated or by comma. */
export function parseStatuses(words: readonly string[]): TaskStatus[] {
  const names = words.flatMap((word) => word.split(","));
  return names.flatMap((name) => {
    const found = GROUPS.get(name.toLowerCase()) ?? TASK_STATUSES.filter((status) => status === name.toUpperCase());
    if (found.length > 0) return found;
    const known = [...GROUPS.keys(), ...TASK_STATUSES].join(", ");
    throw new CommandFault("usage", `--status ${name}: give one of ${known}`);
  });
}

function filterOf({ limit: count, status, image, since }: ListOptions) {
  const limit = Number(count);
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    throw new CommandFault("usage", `--limit ${count}: give a number from 1 to ${LIMIT_MAX}`);
  }
  return {
    limit,
    ...(status === undefined ? {} : { statuses: parseStatuses(status) }),
    ...(image === undefined ? {} : { image }),
    ...(since === undefined ? {} : { age_ms_max: parseSeconds("since", since) * 1_000 }),
  };
}

function rowOf(view: TaskView): string[] {
  const note = view.outcome?.error?.code ?? view.waiting?.reason ?? "";
  const age = span(Date.now() - view.accepted_at_ms);
  return [view.task_id, view.status, view.phase, String(view.attempt), view.image, age, note];
}

/** How far the search went, where that is not plain from what is shown; null where it is. */
export function searchNote({ tasks, looked_at, oldest_at_ms, complete }: TaskList): string | null {
  if (complete && tasks.length === looked_at) return null;
  const back = oldest_at_ms === null ? "" : `, back to ${new Date(oldest_at_ms).toISOString()}`;
  return `${tasks.length} shown, ${looked_at} looked at${back}${complete ? "" : "; there are older ones: see --limit"}`;
}

async function list(options: ListOptions, context: CommandContext): Promise<number> {
  const filter = filterOf(options);
  const workspace_id = workspaceOf(options);
  const found = await withClient(context, options, (client) => client.list({ workspace_id, ...filter }));
  for (const line of listing(found.tasks, options.json, HEADINGS, rowOf)) context.console.line(line);
  const note = searchNote(found);
  if (note !== null) context.console.note(note);
  return EXIT.ok;
}

const collect = (value: string, earlier: string[] = []): string[] => [...earlier, value];

export function addLs(program: Command, context: CommandContext): void {
  const command = program.command("ls").summary("list tasks, newest first");
  addDataOption(command)
    .description("List tasks of one workspace, newest first. Tells on standard error how far it looked.")
    .option("--workspace <id>", "workspace to list (default: default)")
    .option("--status <status>", "waiting, running, ended, or a status; repeatable, or by comma", collect)
    .option("--image <image>", "run in this image; without a tag: in any of it")
    .option("--since <time>", "accepted in the last 30s, 10m or 2h")
    .option("--limit <count>", "how many at most", "50")
    .option("--json", "one JSON object a line")
    .action(async (options: ListOptions) => context.exit(await list(options, context)));
}
