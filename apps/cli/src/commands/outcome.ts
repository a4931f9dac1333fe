import type { Outcome, StreamOutput } from "@holdfast/contract";
import type { Command } from "commander";
import { addTaskOptions, type CommandContext, type TaskOptions, taskNameOf, withClient } from "../command-context.js";
import { CommandFault } from "../command-fault.js";
import { EXIT } from "../exit-codes.js";
import { facts, span } from "../output/table.js";

interface OutcomeOptions extends TaskOptions {
  readonly json?: boolean;
}

const text = (value: string | number | null): string | null => (value === null ? null : String(value));
const spanOf = (ms: number | null): string | null => (ms === null ? null : span(ms));

function sizeOf(output: StreamOutput): string {
  return `${output.total_bytes} bytes${output.truncated ? ", kept in part" : ""}`;
}

function factsOf(outcome: Outcome): string[] {
  const { error, timing, usage, tree_receipt } = outcome;
  return facts([
    ["task_id", outcome.task_id],
    ["status", outcome.status],
    ["ran", outcome.ran ? "yes" : "no"],
    ["exit_code", text(outcome.exit_code)],
    ["signal", outcome.signal],
    [
      "error",
      error === null ? null : `${error.code} (fault: ${error.fault}${error.retryable ? ", may be retried" : ""})`,
    ],
    ["message", error?.message ?? null],
    ["image", outcome.image],
    ["host", outcome.host_id],
    ["attempt", text(outcome.attempt)],
    ["queued", spanOf(timing.queued_ms)],
    ["run", spanOf(timing.run_ms)],
    ["total", spanOf(timing.total_ms)],
    ["cpu", spanOf(usage.cpu_ms)],
    ["memory_peak", usage.memory_peak_bytes === null ? null : `${usage.memory_peak_bytes} bytes`],
    [
      "tree_receipt",
      tree_receipt === null
        ? null
        : `${tree_receipt.killed_processes} ended in ${tree_receipt.kill_ms} ms, ${tree_receipt.survivors} left`,
    ],
    ["stdout", sizeOf(outcome.stdout)],
    ["stderr", sizeOf(outcome.stderr)],
  ]);
}

async function showOutcome(task: string, options: OutcomeOptions, context: CommandContext): Promise<number> {
  const name = taskNameOf(task, options);
  const outcome = await withClient(context, options, (client) => client.outcome(name, { wait_ms: 0 }));
  if (outcome === null) throw new CommandFault("usage", `${task} has not ended yet: use \`holdfast watch ${task}\``);
  if (options.json === true) context.console.line(JSON.stringify(outcome));
  else for (const line of factsOf(outcome)) context.console.line(line);
  return EXIT.ok;
}

export function addOutcome(program: Command, context: CommandContext): void {
  const command = program.command("outcome").summary("show how a task ended");
  addTaskOptions(command)
    .description("Show how a task ended. Exits 0 where it has, however it ended.")
    .option("--json", "the whole outcome, with its output, as one JSON object")
    .action(async (task: string, options: OutcomeOptions) => context.exit(await showOutcome(task, options, context)));
}
