import type { Command } from "commander";
import { addDataOption, type CommandContext } from "../command-context.js";
import type { DoctorOptions } from "../doctor/doctor.js";

const HELP = `
It looks at Redis, the Docker Engine, kernel and images, and then proves the limits by running against them in real
sandboxes of its own, which takes some ten seconds. Nothing of it is left behind, and a running fleet is not touched.
Exits 0 where nothing failed, 125 otherwise, 130 where it was interrupted.`;

export function addDoctor(program: Command, context: CommandContext): void {
  const command = program.command("doctor").summary("check what a fleet stands on, and prove that limits hold");
  addDataOption(command)
    .description("Check what a fleet stands on, and prove that limits hold.")
    .option("--json", "one JSON object a line")
    .addHelpText("after", HELP)
    .action(async (options: DoctorOptions) => {
      const { examine } = await import("../doctor/doctor.js");
      context.exit(await examine(context, options));
    });
}
