/** The options of `run` and `submit` as a task request. The contract judges the values; here they get form. */
import { readFileSync, statSync } from "node:fs";
import { basename } from "node:path";
import { BOUNDS, type TaskRequestInput } from "@holdfast/contract";
import type { Command } from "commander";
import { CommandFault } from "./command-fault.js";

export interface RequestOptions {
  readonly image?: string;
  readonly timeout?: string;
  readonly queueTimeout?: string;
  readonly memory?: string;
  readonly cpu?: string;
  readonly disk?: string;
  readonly pids?: string;
  readonly env?: readonly string[];
  readonly file?: readonly string[];
  readonly label?: readonly string[];
  readonly stdin?: string;
  readonly workspace?: string;
  readonly taskId?: string;
}

/** For options that may be given more than once. */
export const collect = (value: string, earlier: string[] = []): string[] => [...earlier, value];

/** Adds them to a command whose rest is the command to run. */
export function addRequestOptions(command: Command): Command {
  return command
    .argument("<command...>", "the command to run, after --")
    .option("--image <image>", "image to run in (default: the Python image that ./scripts/setup provides)")
    .option("--timeout <time>", "time limit, such as 30, 30s, 5m or 1h (default 300 s)")
    .option("--queue-timeout <time>", "how long it may wait for capacity (default 1 h)")
    .option("--memory <size>", "memory in MiB, or such as 512m or 1g (default 512m)")
    .option("--cpu <cores>", "cores, such as 0.5 or 2 (default 1)")
    .option("--disk <size>", "size of /workspace in MiB, or such as 256m (default 256m)")
    .option("--pids <count>", "processes and threads at once (default 128)")
    .option("--env <name=value>", "environment variable; repeatable; not for secrets", collect)
    .option("--file <local:path>", "put a local file at a path beneath /workspace; repeatable", collect)
    .option("--stdin <file>", "standard input from a local file, or - for this command's own")
    .option("--label <name=value>", "label; repeatable", collect)
    .option("--workspace <id>", "workspace the task belongs to (default: default)")
    .option("--task-id <id>", "id of the task: the same id and request is the same task");
}

function usage(option: string, value: string, wanted: string): CommandFault {
  return new CommandFault("usage", `--${option} ${value}: ${wanted}`);
}

/** Whole seconds of `30`, `30s`, `5m` or `1h`. */
export function parseSeconds(option: string, text: string): number {
  const match = /^(\d{1,9})(s|m|h)?$/.exec(text);
  const unit = { s: 1, m: 60, h: 3_600 }[match?.[2] ?? "s"];
  if (match === null || unit === undefined) throw usage(option, text, "give a time such as 30, 30s, 5m or 1h");
  return Number(match[1]) * unit;
}

/** Whole MiB of `512`, `512m` or `1g`. */
export function parseMib(option: string, text: string): number {
  const match = /^(\d{1,9})(m|g)?$/i.exec(text);
  if (match === null) throw usage(option, text, "give MiB, or a size such as 512m or 1g");
  return Number(match[1]) * (match[2]?.toLowerCase() === "g" ? 1024 : 1);
}

export function parseNumber(option: string, text: string): number {
  if (!/^\d{1,9}(\.\d{1,6})?$/.test(text)) throw usage(option, text, "give a number");
  return Number(text);
}

function parsePairs(option: string, pairs: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1) throw usage(option, pair, "give it as NAME=VALUE");
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

function readLocal(option: string, path: string, bytes_max: number): Buffer {
  try {
    if (statSync(path).size > bytes_max) throw usage(option, path, `the local file has more than ${bytes_max} bytes`);
    return readFileSync(path);
  } catch (error) {
    if (error instanceof CommandFault) throw error;
    throw usage(option, path, `the local file cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown"})`);
  }
}

/** A path in the sandbox holds no colon here, so the last one parts the two. */
export function parseFile(text: string): { path: string; content: string; encoding: "base64"; mode: string } {
  const colon = text.lastIndexOf(":");
  const local = colon < 0 ? text : text.slice(0, colon);
  const path = colon < 0 ? basename(text) : text.slice(colon + 1);
  if (local === "" || path === "") throw usage("file", text, "give it as LOCAL:PATH");
  const content = readLocal("file", local, BOUNDS.files_total_bytes_max).toString("base64");
  const executable = (statSync(local).mode & 0o111) !== 0;
  return { path, content, encoding: "base64", mode: executable ? "0755" : "0644" };
}

async function readInput(input: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of input) {
    length += chunk.length;
    if (length > BOUNDS.stdin_bytes_max) throw usage("stdin", "-", `more than ${BOUNDS.stdin_bytes_max} bytes came`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function stdinOf(stdin: string | undefined, sources: RequestSources): Promise<object> {
  if (stdin === undefined) return {};
  const bytes = stdin === "-" ? await readInput(sources.input) : readLocal("stdin", stdin, BOUNDS.stdin_bytes_max);
  return { stdin: bytes.toString("base64"), stdin_encoding: "base64" };
}

export interface RequestSources {
  readonly default_image: string;
  readonly input: AsyncIterable<Uint8Array>;
}

/** Reads the local files and standard input that the options name. Throws a CommandFault for what has no form. */
export async function requestOf(
  command: readonly string[],
  options: RequestOptions,
  sources: RequestSources,
): Promise<TaskRequestInput> {
  const { image = sources.default_image } = options;
  const optional = <T>(name: string, text: string | undefined, parse: (text: string) => T) =>
    text === undefined ? {} : { [name]: parse(text) };
  return {
    image,
    command: [...command],
    env: parsePairs("env", options.env),
    labels: parsePairs("label", options.label),
    files: (options.file ?? []).map(parseFile),
    ...(await stdinOf(options.stdin, sources)),
    resources: {
      ...optional("cpu", options.cpu, (text) => parseNumber("cpu", text)),
      ...optional("memory_mb", options.memory, (text) => parseMib("memory", text)),
      ...optional("disk_mb", options.disk, (text) => parseMib("disk", text)),
      ...optional("pids_limit", options.pids, (text) => parseNumber("pids", text)),
    },
    ...optional("timeout_seconds", options.timeout, (text) => parseSeconds("timeout", text)),
    ...optional("queue_timeout_seconds", options.queueTimeout, (text) => parseSeconds("queue-timeout", text)),
    ...optional("workspace_id", options.workspace, (text) => text),
    ...optional("task_id", options.taskId, (text) => text),
  } as TaskRequestInput;
}
