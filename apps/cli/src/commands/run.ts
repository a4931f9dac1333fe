import type { HoldfastClient } from "@holdfast/client";
import type { TaskName } from "@holdfast/contract";
import type { Command } from "commander";
import { addDataOption, type CommandContext, withClient } from "../command-context.js";
import { EXIT, exitCodeOf } from "../exit-codes.js";
import { followTask } from "../follow-task.js";
import { addRequestOptions, type RequestOptions, requestOf } from "../request-options.js";

interface RunOptions extends RequestOptions {
  readonly data?: string;
  readonly json?: boolean;
}

/** The first signal cancels the task and goes on listening for its end; a second one leaves at once. */
function cancelOnSignal(client: HoldfastClient, context: CommandContext, named: Promise<TaskName>): () => void {
  let asked = false;
  const onSignal = (): void => {
    if (asked) process.exit(EXIT.cancelled);
    asked = true;
    context.console.note("cancelling the task; press Ctrl-C again to leave at once");
    named
      .then((name) => client.cancel(name))
      .catch(() => context.console.note("the task could not be cancelled; press Ctrl-C again to leave it running"));
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, onSignal);
  return () => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, onSignal);
  };
}

async function run(command: readonly string[], options: RunOptions, context: CommandContext): Promise<number> {
  const sources = { default_image: context.config.HOLDFAST_IMAGE, input: context.input };
  const request = await requestOf(command, options, sources);
  return withClient(context, options, async (client) => {
    const submitted = client.submit(request);
    const release = cancelOnSignal(client, context, submitted);
    try {
      const outcome = await followTask(client, context.console, await submitted, { json: options.json === true });
      return exitCodeOf(outcome);
    } finally {
      release();
    }
  });
}

const HELP = `
The command's output appears as it comes, byte for byte, and its exit code is this command's.
Other exit codes: 124 time limit, 130 cancelled, 125 fault of platform, policy or capacity, 2 bad usage.

Examples:
  holdfast run -- python3 -c "print(6*7)"
  holdfast run --timeout 10 --file main.py:main.py -- python3 main.py
  echo hello | holdfast run --stdin - -- cat`;

export function addRun(program: Command, context: CommandContext): void {
  const command = program.command("run").summary("run a command in a sandbox and show its output");
  addRequestOptions(addDataOption(command))
    .description("Run a command in a fresh sandbox and show its output.")
    .option("--json", "one JSON object a line: each event, then the outcome")
    .passThroughOptions()
    .addHelpText("after", HELP)
    .action(async (words: string[], options: RunOptions) => context.exit(await run(words, options, context)));
}
