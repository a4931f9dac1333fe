import { EXIT, type ExitCode } from "./exit-codes.js";

/** `usage`: the command line is at fault. `platform`: what it stands on is. */
export type FaultKind = "usage" | "platform";

/** Ends a command with one line for its reader: what was wrong and what to do. */
export class CommandFault extends Error {
  readonly exit_code: ExitCode;

  constructor(kind: FaultKind, message: string) {
    super(message);
    this.name = "CommandFault";
    this.exit_code = kind === "usage" ? EXIT.usage : EXIT.platform;
  }
}
