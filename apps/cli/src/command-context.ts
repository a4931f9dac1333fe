import { type HoldfastClient, openClient } from "@holdfast/client";
import type { TaskName, WorkspaceId } from "@holdfast/contract";
import { taskIdSchema, workspaceIdSchema } from "@holdfast/contract";
import type { Command } from "commander";
import { CommandFault } from "./command-fault.js";
import type { CliConfig, Environment } from "./config.js";
import { findFleet } from "./fleet-address.js";
import type { Console } from "./output/console.js";

/** A command says within five seconds that Redis is away, its own start included. */
export const FAIL_FAST_MS = 3_000;

/** What every command gets. */
export interface CommandContext {
  readonly config: CliConfig;
  readonly env: Environment;
  readonly console: Console;
  readonly input: AsyncIterable<Uint8Array>;
  /** Takes what the command's end becomes. */
  exit(code: number): void;
}

export interface FleetOptions {
  readonly data?: string;
}

export interface TaskOptions extends FleetOptions {
  readonly workspace?: string;
}

export function addDataOption(command: Command): Command {
  return command.option("--data <dir>", "data folder of the `up` to use (default: HOLDFAST_DATA, else .holdfast)");
}

export function addTaskOptions(command: Command): Command {
  return addDataOption(command)
    .argument("<task>", "task id")
    .option("--workspace <id>", "workspace of the task (default: default)");
}

/** Opens a client of the fleet, and closes it whatever `use` does. */
export async function withClient<T>(
  context: CommandContext,
  options: FleetOptions,
  use: (client: HoldfastClient) => Promise<T>,
): Promise<T> {
  const client = await openClient({ ...findFleet(context.config, options.data), fail_fast_ms: FAIL_FAST_MS });
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

export function workspaceOf(options: TaskOptions): WorkspaceId {
  const parsed = workspaceIdSchema.safeParse(options.workspace ?? "default");
  if (parsed.success) return parsed.data;
  throw new CommandFault("usage", `--workspace ${options.workspace}: ${parsed.error.issues[0]?.message}`);
}

export function taskNameOf(task: string, options: TaskOptions): TaskName {
  const parsed = taskIdSchema.safeParse(task);
  if (!parsed.success) throw new CommandFault("usage", `${task} is no task id: ${parsed.error.issues[0]?.message}`);
  return { workspace_id: workspaceOf(options), task_id: parsed.data };
}
