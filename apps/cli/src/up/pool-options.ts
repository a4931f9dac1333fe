/** `--pool` and `--pool-key` as the settings of a worker. */
import { parsePinnedKeys } from "@holdfast/worker";
import { CommandFault } from "../command-fault.js";
import type { Environment } from "../config.js";
import type { PoolOptions } from "../pool-flags.js";

function checkCount(text: string): string {
  if (/^\d{1,4}$/.test(text)) return text;
  throw new CommandFault("usage", `--pool ${text}: give a whole number, 0 for no pool`);
}

/** What is not given stays as the environment has it. Throws a CommandFault that names what has no form. */
export function poolSettings({ pool, poolKey }: PoolOptions): Environment {
  const keys = poolKey?.join(",");
  const [refusal] = keys === undefined ? [] : parsePinnedKeys(keys).refusals;
  if (refusal !== undefined) throw new CommandFault("usage", `--pool-key ${refusal}`);
  return {
    ...(pool === undefined ? {} : { HOLDFAST_POOL: checkCount(pool) }),
    ...(keys === undefined ? {} : { HOLDFAST_POOL_KEYS: keys }),
  };
}
