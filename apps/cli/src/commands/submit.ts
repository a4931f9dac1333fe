import type { Command } from "commander";
import { addDataOption, type CommandContext, withClient } from "../command-context.js";
import { EXIT } from "../exit-codes.js";
import { addRequestOptions, type RequestOptions, requestOf } from "../request-options.js";

interface SubmitOptions extends RequestOptions {
  readonly data?: string;
}

async function submit(command: readonly string[], options: SubmitOptions, context: CommandContext): Promise<number> {
  const sources = { default_image: context.config.HOLDFAST_IMAGE, input: context.input };
  const request = await requestOf(command, options, sources);
  const { task_id } = await withClient(context, options, (client) => client.submit(request));
  context.console.line(task_id);
  return EXIT.ok;
}

const HELP = `
Prints the task's id alone. Follow it with \`holdfast watch\`, or read its end with \`holdfast outcome\`.

Example:
  task=$(holdfast submit -- sleep 60)`;

export function addSubmit(program: Command, context: CommandContext): void {
  const command = program.command("submit").summary("queue a command and print the task's id");
  addRequestOptions(addDataOption(command))
    .description("Queue a command and print the task's id.")
    .passThroughOptions()
    .addHelpText("after", HELP)
    .action(async (words: string[], options: SubmitOptions) => context.exit(await submit(words, options, context)));
}
