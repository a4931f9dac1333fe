import { Command } from "commander";
import type { CommandContext } from "./command-context.js";
import { addCancel } from "./commands/cancel.js";
import { addConfig } from "./commands/config.js";
import { addDoctor } from "./commands/doctor.js";
import { addDown } from "./commands/down.js";
import { addDrain, addUndrain } from "./commands/drain.js";
import { addGateway } from "./commands/gateway.js";
import { addHosts } from "./commands/hosts.js";
import { addImages } from "./commands/images.js";
import { addLimits } from "./commands/limits.js";
import { addLs } from "./commands/ls.js";
import { addOutcome } from "./commands/outcome.js";
import { addPurge } from "./commands/purge.js";
import { addRetention } from "./commands/retention.js";
import { addRun } from "./commands/run.js";
import { addSandboxes } from "./commands/sandboxes.js";
import { addStatus } from "./commands/status.js";
import { addSubmit } from "./commands/submit.js";
import { addSupervise } from "./commands/supervise.js";
import { addUp } from "./commands/up.js";
import { addWatch } from "./commands/watch.js";
import { addWorker } from "./commands/worker.js";

const HELP = `
Every command but up, worker, supervise, gateway and doctor finds its fleet by REDIS_URL, else by the data folder of a
running \`up\`.

First steps:
  holdfast up
  holdfast run -- python3 -c "print(6*7)"`;

/** The whole command line. Parsing throws CommanderError instead of ending the process. */
export function createProgram(context: CommandContext): Command {
  const program = new Command("holdfast")
    .description("Run untrusted code in single-use sandboxes, from a queue.")
    .version("0.1.0")
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .addHelpText("after", HELP);
  for (const add of [addUp, addDown, addRun, addSubmit, addWatch, addOutcome, addStatus, addLs, addCancel]) {
    add(program, context);
  }
  const ofHosts = [addHosts, addSandboxes, addDrain, addUndrain, addImages, addLimits, addRetention, addDoctor];
  for (const add of [...ofHosts, addWorker, addSupervise, addGateway, addPurge, addConfig]) add(program, context);
  return program;
}
