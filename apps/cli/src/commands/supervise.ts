import type { Command } from "commander";
import { addDataOption, type CommandContext, type FleetOptions } from "../command-context.js";

export function addSupervise(program: Command, context: CommandContext): void {
  addDataOption(program.command("supervise"))
    .summary("tidy up for a fleet without taking tasks")
    .description(
      "Do what workers do beside their tasks, for machines whose worker may be down for long: end what dead workers " +
        "left on this machine's Docker Engine, hand their tasks on, keep waiting tasks moving, remove what is out of " +
        "date. Any number may run beside any number of workers. Logs go to standard error.",
    )
    .action(async (options: FleetOptions) =>
      (await import("../up/serve-supervisor.js")).serveSupervisor(options, context),
    );
}
