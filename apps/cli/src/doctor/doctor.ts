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

export async function examine(context: CommandContext, options: DoctorOptions): Promise<number> {
  const config = readWorkerConfig(context.env);
  const redis = await redisChecks(context, options, config);
  const { checks, walls, facts } = await diagnoseEngine({
    socket_path: engineSocketOf(config),
    images_file: config.HOLDFAST_IMAGES,
    agent_directory: config.HOLDFAST_AGENT_DIRECTORY,
  });
  const limits = facts === null ? null : hostLimits(config, facts, walls);
  const all: Check[] = [...redis, ...checks, judgeLimits(limits)];
  for (const line of report(all, options.json)) context.console.line(line);
  return failedNames(all).length === 0 ? EXIT.ok : EXIT.platform;
}
