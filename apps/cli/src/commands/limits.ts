import { LIMIT_KEYS, type LimitKey, type ScopeView } from "@holdfast/contract";
import type { Command } from "commander";
import { addDataOption, type CommandContext, type FleetOptions, withClient } from "../command-context.js";
import { EXIT } from "../exit-codes.js";
import { addLimitOptions, type LimitOptions, limitsOf, scopeOf } from "../limit-options.js";
import { listing } from "../output/table.js";

interface ListOptions extends FleetOptions {
  readonly json?: boolean;
}

const HEADINGS = ["SCOPE", "ID", "SLOTS", "CPU (1/1000)", "MEMORY (MiB)", "PIDS", "QUEUED", "PENDING BYTES"];

/** `used/limit`, with `-` for no limit; empty where it does not apply. */
function shareOf(view: ScopeView, key: LimitKey): string {
  const used = view.used[key];
  return used === null ? "" : `${used}/${view.limits[key] ?? "-"}`;
}

function rowOf(view: ScopeView): string[] {
  return [view.scope, view.id, ...LIMIT_KEYS.map((key) => shareOf(view, key))];
}

async function set(options: LimitOptions & FleetOptions, context: CommandContext): Promise<number> {
  const [scope, limits] = [scopeOf(options), limitsOf(options)];
  const now = await withClient(context, options, async (client) => {
    await client.setLimits(scope, limits);
    return client.limitsOf(scope);
  });
  for (const line of listing([now], false, HEADINGS, rowOf)) context.console.line(line);
  return EXIT.ok;
}

async function list(options: ListOptions, context: CommandContext): Promise<number> {
  const views = await withClient(context, options, (client) => client.limits());
  for (const line of listing(views, options.json, HEADINGS, rowOf)) context.console.line(line);
  return EXIT.ok;
}

export function addLimits(program: Command, context: CommandContext): void {
  const limits = program
    .command("limits")
    .summary("set and show limits")
    .description("Set and show limits of the fleet, of workspaces and of hosts.");
  addLimitOptions(addDataOption(limits.command("set").summary("set or lift limits of one scope")))
    .description(
      "Set limits of one scope; `none` lifts one. A lower limit ends nothing that runs or waits; a higher one lets " +
        "waiting tasks go on at once.",
    )
    .action(async (options: LimitOptions & FleetOptions) => context.exit(await set(options, context)));
  addDataOption(limits.command("ls").summary("show limits and what is in use"))
    .description("Show used/limit of the fleet, each host, and each workspace with limits or unfinished tasks.")
    .option("--json", "one JSON object a line")
    .action(async (options: ListOptions) => context.exit(await list(options, context)));
}
