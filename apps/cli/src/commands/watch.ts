import type { Command } from "commander";
import { addTaskOptions, type CommandContext, type TaskOptions, taskNameOf, withClient } from "../command-context.js";
import { EXIT, exitCodeOf } from "../exit-codes.js";
import { followTask } from "../follow-task.js";

interface WatchOptions extends TaskOptions {
  readonly json?: boolean;
}

async function watch(task: string, options: WatchOptions, context: CommandContext): Promise<number> {
  const name = taskNameOf(task, options);
  const controller = new AbortController();
  const leave = (): void => controller.abort();
  process.once("SIGINT", leave);
  try {
    return await withClient(context, options, async (client) => {
      const { signal } = controller;
      const outcome = await followTask(client, context.console, name, { json: options.json === true, signal });
      return exitCodeOf(outcome);
    });
  } catch (error) {
    if (controller.signal.aborted) return EXIT.cancelled;
    throw error;
  } finally {
    process.off("SIGINT", leave);
  }
}

const HELP = `
Shows the output from its beginning and ends with the task, with the exit codes of \`holdfast run\`.
Ctrl-C leaves the task running.`;

export function addWatch(program: Command, context: CommandContext): void {
  const command = program.command("watch").summary("show a task's output until it ends");
  addTaskOptions(command)
    .description("Show a task's output until it ends.")
    .option("--json", "one JSON object a line: each event, then the outcome")
    .addHelpText("after", HELP)
    .action(async (task: string, options: WatchOptions) => context.exit(await watch(task, options, context)));
}
