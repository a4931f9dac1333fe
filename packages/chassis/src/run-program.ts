import { ConfigError } from "./load-config.js";
import type { Logger } from "./logger.js";

export interface Program {
  readonly name: string;
  readonly logger: Logger;
  start(): Promise<{ stop(): Promise<void> }>;
}

/** Reads a program's configuration; a bad one is told on standard error and exits 2. */
export function configOrExit<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return process.exit(2);
  }
}

/**
 * Runs a program until SIGTERM or SIGINT, then stops it once and exits 0. A second signal exits 1 at once.
 * A failed start, a failed stop and an unhandled rejection are logged and exit 1.
 */
export async function runProgram(program: Program): Promise<void> {
  const { logger, name } = program;
  let ending = false;
  const fail = (event: string, error: unknown): never => {
    logger.error(event, { program: name, error });
    process.exit(1);
  };
  process.on("unhandledRejection", (error) => fail("unhandled_rejection", error));
  process.on("uncaughtException", (error) => fail("uncaught_exception", error));

  let arrived: (signal: string) => void = () => {};
  const asked = new Promise<string>((resolve) => {
    arrived = resolve;
  });
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (ending) return fail("stopped_by_force", new Error(`second signal ${signal}`));
      ending = true;
      arrived(signal);
    });
  }

  const running = await program.start().catch((error: unknown) => fail("start_failed", error));
  const signal = await asked;
  logger.info("stopping", { signal });
  await running.stop().catch((error: unknown) => fail("stop_failed", error));
  logger.info("stopped");
  process.exit(0);
}
