import type { HoldfastClient } from "@holdfast/client";
import type { Command } from "commander";
import { addDataOption, type CommandContext, type FleetOptions, withClient } from "../command-context.js";
import { EXIT } from "../exit-codes.js";

async function leftOn(client: HoldfastClient, host: string): Promise<number> {
  return (await client.sandboxes()).filter(({ host_id }) => host_id === host).length;
}

async function drain(host: string, options: FleetOptions, context: CommandContext): Promise<number> {
  const left = await withClient(context, options, async (client) => {
    await client.drain(host);
    return leftOn(client, host);
  });
  const count = left === 1 ? "1 sandbox is" : `${left} sandboxes are`;
  const still = left === 0 ? "nothing runs there" : `${count} left there: \`holdfast sandboxes\` shows when none is`;
  context.console.line(`${host} is drained and takes no tasks; ${still}`);
  return EXIT.ok;
}

async function undrain(host: string, options: FleetOptions, context: CommandContext): Promise<number> {
  await withClient(context, options, (client) => client.undrain(host));
  context.console.line(`${host} takes tasks`);
  return EXIT.ok;
}

export function addDrain(program: Command, context: CommandContext): void {
  const command = program.command("drain").summary("take a host out of service");
  addDataOption(command)
    .argument("<host>", "host id, as `holdfast hosts` shows it")
    .description(
      "Take a host out of service: its workers take no new tasks, those that run there end as usual, and what waits " +
        "goes to other hosts. It stays so, restarts included, until `holdfast undrain`.",
    )
    .action(async (host: string, options: FleetOptions) => context.exit(await drain(host, options, context)));
}

export function addUndrain(program: Command, context: CommandContext): void {
  const command = program.command("undrain").summary("take a host back into service");
  addDataOption(command)
    .argument("<host>", "host id, as `holdfast hosts` shows it")
    .description("Take a drained host back into service.")
    .action(async (host: string, options: FleetOptions) => context.exit(await undrain(host, options, context)));
}
