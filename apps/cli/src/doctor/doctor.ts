/** Looks at all that a fleet stands on, proves what can be proved, and says of each whether it holds. */
import { type Check, diagnoseEngine, failedNames } from "@holdfast/engine";
import { engineSocketOf, hostLimits, readWorkerConfig } from "@holdfast/worker";
import type { CommandContext, FleetOptions } from "../command-context.js";
import { EXIT } from "../exit-codes.js";
import { judgeLimits } from "./limits-check.js";
import { redisChecks } from "./redis-checks.js";
import { report } from "./report.js";

export interface DoctorOptions extends FleetOptions {
  readonly json?: boolean;
}

/** Aborted by Ctrl-C or SIGTERM: what was made is removed before the process ends. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => controller.abort());
  return controller.signal;
}

export async function examine(context: CommandContext, options: DoctorOptions): Promise<number> {
  const config = readWorkerConfig(context.env);
  const signal = interruption();
  const redis = await redisChecks(context, options, config);
  const { checks, walls, facts } = await diagnoseEngine({
    socket_path: engineSocketOf(config),
    images_file: config.HOLDFAST_IMAGES,
    agent_directory: config.HOLDFAST_AGENT_DIRECTORY,
    signal,
  });
  const limits = facts === null ? null : hostLimits(config, facts, walls);
  const all: Check[] = [...redis, ...checks, judgeLimits(limits)];
  for (const line of report(all, options.json)) context.console.line(line);
  if (signal.aborted) return EXIT.cancelled;
  return failedNames(all).length === 0 ? EXIT.ok : EXIT.platform;
}
