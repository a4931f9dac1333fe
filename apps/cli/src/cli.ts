import type { CommandContext } from "./command-context.js";
import { environment, readCliConfig } from "./config.js";
import { EXIT } from "./exit-codes.js";
import { explainError } from "./explain-error.js";
import { createConsole } from "./output/console.js";
import { createProgram } from "./program.js";

/** Runs one command line and gives its exit code. */
export async function runCli(words: readonly string[]): Promise<number> {
  const console = createConsole({ stdout: process.stdout, stderr: process.stderr });
  let exit_code: number = EXIT.ok;
  let command: string | undefined;
  try {
    const env = environment();
    const context: CommandContext = {
      config: readCliConfig(env),
      env,
      console,
      input: process.stdin,
      exit: (code) => {
        exit_code = code;
      },
    };
    const program = createProgram(context);
    command = program.commands.map((known) => known.name()).find((name) => name === words[0]);
    await program.parseAsync([...words], { from: "user" });
    return exit_code;
  } catch (error) {
    const { line, exit_code: code } = explainError(error, command);
    if (line !== "") console.note(line);
    return code;
  }
}
