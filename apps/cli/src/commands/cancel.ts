import type { Command } from "commander";
import { addTaskOptions, type CommandContext, type TaskOptions, taskNameOf, withClient } from "../command-context.js";
import { EXIT } from "../exit-codes.js";

async function cancel(task: string, options: TaskOptions, context: CommandContext): Promise<number> {
  const reply = await withClient(context, options, (client) => client.cancel(taskNameOf(task, options)));
  switch (reply.kind) {
    case "cancelled":
      context.console.line(`${task} cancelled`);
      return EXIT.ok;
    case "requested":
      context.console.line(`${task} is being cancelled`);
      return EXIT.ok;
    case "finished":
      context.console.line(`${task} had ended already: ${reply.outcome.status}`);
      return EXIT.ok;
  }
}

export function addCancel(program: Command, context: CommandContext): void {
  const command = program.command("cancel").summary("cancel a task");
  addTaskOptions(command)
    .description("Cancel a task. Exits 0 also where it had ended already.")
    .action(async (task: string, options: TaskOptions) => context.exit(await cancel(task, options, context)));
}
