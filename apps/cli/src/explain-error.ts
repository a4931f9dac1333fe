import { ConfigError } from "@holdfast/chassis";
import { type ErrorCode, HoldfastError } from "@holdfast/contract";
import { CommanderError } from "commander";
import { CommandFault } from "./command-fault.js";
import { EXIT, exitCodeOfError } from "./exit-codes.js";

export interface Explanation {
  /** One line for the reader; empty where all was said already. */
  readonly line: string;
  readonly exit_code: number;
}

const SHOWN_ALREADY = ["commander.help", "commander.helpDisplayed", "commander.version"];

function explainUsage(error: CommanderError, command: string): Explanation {
  const exit_code = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (SHOWN_ALREADY.includes(error.code)) return { line: "", exit_code };
  const message = error.message.replace(/^error: /, "").replaceAll("\n", " ");
  return { line: `${message}: see \`holdfast ${command}--help\``, exit_code };
}

const ADVICE: Partial<Record<ErrorCode, string>> = {
  LEDGER_UNAVAILABLE: " Is its Redis running, and is REDIS_URL right?",
  TASK_NOT_FOUND: " `holdfast ls` lists the tasks of a workspace.",
  HOST_NOT_FOUND: " `holdfast hosts` lists them.",
  IMAGE_NOT_ALLOWED: " `holdfast images` lists those that are.",
};

function explainRefusal(error: HoldfastError): Explanation {
  const named = error.field === null || error.message.startsWith(`${error.field} `);
  const field = named ? "" : `${error.field}: `;
  const advice = ADVICE[error.code] ?? "";
  return { line: `${field}${error.message}${advice}`, exit_code: exitCodeOfError(error) };
}

function isAddressInUse(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EADDRINUSE";
}

/** Turns whatever ended the named command into one line and an exit code; never a stack trace. */
export function explainError(error: unknown, command?: string): Explanation {
  if (error instanceof CommandFault) return { line: error.message, exit_code: error.exit_code };
  if (error instanceof ConfigError) return { line: error.message, exit_code: EXIT.usage };
  if (error instanceof HoldfastError) return explainRefusal(error);
  if (error instanceof CommanderError) return explainUsage(error, command === undefined ? "" : `${command} `);
  const message = error instanceof Error ? error.message : String(error);
  // By name: the worker is loaded by the few commands that run one.
  if (error instanceof Error && error.name === "StartRefused") return { line: message, exit_code: EXIT.platform };
  if (isAddressInUse(error)) return { line: `${message}: name another port`, exit_code: EXIT.platform };
  return { line: `unexpected failure: ${message}`, exit_code: EXIT.platform };
}
