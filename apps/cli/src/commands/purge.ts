import type { Command } from "commander";
import { addDataOption, type CommandContext } from "../command-context.js";
import type { PurgeOptions } from "../purge/purge.js";

const HELP = `
It removes the containers and volumes that bear the fleet's label, and nothing else; with --images also every image
named holdfast/... The fleet is that of the data folder, of HOLDFAST_FLEET or of --fleet. It is refused while a
worker serves this engine. The ledger is not touched: the next worker here is a new host of its fleet.`;

export function addPurge(program: Command, context: CommandContext): void {
  addDataOption(program.command("purge").summary("remove all that is a fleet's from this machine's engine"))
    .description("Remove all that is a fleet's from this machine's Docker Engine, for good.")
    .option("--yes", "remove it; without, it is only shown")
    .option("--dry-run", "show what would go, and whether it would be refused")
    .option("--images", "images named holdfast/... as well")
    .option("--fleet <id>", "the fleet whose it is")
    .option("--all-fleets", "whosoever it is")
    .option("--force", "also beside a worker that lives: what it runs ends")
    .option("--json", "one JSON object a line")
    .addHelpText("after", HELP)
    .action(async (options: PurgeOptions) =>
      context.exit(await (await import("../purge/purge.js")).purge(options, context)),
    );
}
