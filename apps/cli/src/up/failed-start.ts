import { explainError } from "../explain-error.js";
import type { Console } from "../output/console.js";

/** Ends the process with one line where `start` fails: a program's start is a command like any other. */
export async function exitOnFailedStart<T>(console: Console, start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    const { line, exit_code } = explainError(error);
    console.note(line);
    process.exit(exit_code);
  }
}
