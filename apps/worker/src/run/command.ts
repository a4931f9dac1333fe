/** Runs the one command of a task and tells how it ended and what it wrote. */
import { deadline, monotonicMs } from "@holdfast/chassis";
import type { StreamName, StreamOutput, TreeReceipt } from "@holdfast/contract";
import type { Sandbox } from "@holdfast/engine";
import { createOutputKeep } from "../output/output-keep.js";
import { createOutputLog, type OutputLog } from "../output/output-log.js";
import type { Attempt, AttemptDeps } from "./attempt.js";
import { type Ending, firstEnding, type GuestExit } from "./endings.js";
import { confirmed } from "./until-answered.js";

export interface CommandEnd {
  readonly ending: Ending;
  /** Also set where the command was cancelled and the agent could still tell. */
  readonly exit: GuestExit | null;
  readonly tree: TreeReceipt | null;
  readonly run_ms: number;
  /** Monotonic milliseconds at which it ended. */
  readonly ended_ms: number;
  readonly output: OutputLog;
  /** What the outcome keeps, as far as it came. */
  kept(): { readonly stdout: StreamOutput; readonly stderr: StreamOutput };
}

/** The agent ends a command at its limit; this much later the worker does, with the whole sandbox. */
const BACKSTOP_GRACE_MS = 10_000;
const KILL_TREE_DEADLINE_MS = 5_000;
const CANCELLED_EXIT_DEADLINE_MS = 2_000;

type Command = ReturnType<Sandbox["exec"]>;

function openOutput(deps: AttemptDeps, attempt: Attempt, sequence: number) {
  const keeps = { stdout: createOutputKeep(), stderr: createOutputKeep() };
  const log = createOutputLog({
    sequence,
    append: (expected, bodies) => confirmed(deps, "append", () => deps.tasks.append(attempt.grant, expected, bodies)),
    mayAct: () => deps.lease.mayAct() && !attempt.orders.abandoned,
    whenMayAct: async () => (await deps.lease.whenMayAct()) && !attempt.orders.abandoned,
    onDropped: (bytes) => deps.metrics.output_dropped_bytes_total.add(bytes),
  });
  const take = (stream: StreamName) => (chunk: Buffer) => {
    keeps[stream].take(chunk);
    deps.metrics.output_bytes_total.add(chunk.length, { stream });
    return log.write(stream, chunk);
  };
  const sinks = { stdout: take("stdout"), stderr: take("stderr"), progress: log.progress };
  return { log, sinks, kept: () => ({ stdout: keeps.stdout.result(), stderr: keeps.stderr.result() }) };
}

function start(attempt: Attempt, sandbox: Sandbox, sinks: Parameters<Sandbox["exec"]>[1]): Command {
  const { request } = attempt;
  const command = sandbox.exec(
    {
      argv: request.command,
      env: request.env,
      working_directory: request.working_directory,
      stdin: Buffer.from(request.stdin, request.stdin_encoding === "base64" ? "base64" : "utf8"),
      timeout_ms: request.timeout_seconds * 1_000,
      leftovers: "kill",
    },
    sinks,
  );
  for (const promise of [command.started, command.exited]) promise.catch(() => {});
  return command;
}

/** Leaves no process of the task; the agent's own account of it, where it still answers. */
async function killTree(sandbox: Sandbox, command: Command) {
  const unknown = (): null => null;
  const tree = await deadline(sandbox.killTree().catch(unknown), KILL_TREE_DEADLINE_MS, unknown);
  const exit = tree && (await deadline(command.exited.catch(unknown), CANCELLED_EXIT_DEADLINE_MS, unknown));
  return { tree, exit };
}

/** `sequence` is that of the event that told the start. */
export async function runCommand(
  deps: AttemptDeps,
  attempt: Attempt,
  sandbox: Sandbox,
  sequence: number,
): Promise<CommandEnd> {
  const { log, sinks, kept } = openOutput(deps, attempt, sequence);
  const began_ms = monotonicMs();
  const command = start(attempt, sandbox, sinks);
  const ending = await firstEnding({
    exited: command.exited,
    sandbox_ended: sandbox.ended,
    orders: attempt.orders,
    fenced: log.fenced,
    lease: deps.lease,
    limit_ms: attempt.request.timeout_seconds * 1_000 + BACKSTOP_GRACE_MS,
    engineAnswers: () => deps.engine.ping(),
  });
  const ended_ms = monotonicMs();
  const run_ms = Math.round(ended_ms - began_ms);
  deps.metrics.run_seconds.observe((ended_ms - began_ms) / 1_000);
  const end = { ending, run_ms, ended_ms, output: log, kept };
  if (ending.kind === "exit") return { ...end, exit: ending.exit, tree: ending.exit.tree };
  if (ending.kind === "cancel") return { ...end, ...(await killTree(sandbox, command)) };
  return { ...end, exit: null, tree: null };
}
