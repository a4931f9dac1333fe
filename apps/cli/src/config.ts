/** The only place where the command line reads its environment. */
import { loadConfig } from "@holdfast/chassis";
import { DEFAULT_IMAGE, keyPrefixSchema } from "@holdfast/contract";
import { z } from "zod";

export const cliConfigSchema = z.object({
  /** The fleet's Redis; without it the data folder of a running `up` tells. */
  REDIS_URL: z.string().optional(),
  HOLDFAST_DATA: z.string().default(".holdfast"),
  HOLDFAST_PREFIX: keyPrefixSchema.default("holdfast"),
  HOLDFAST_QUEUE_PREFIX: keyPrefixSchema.default("bull"),
  /** Used by `run` and `submit` where no --image is given. */
  HOLDFAST_IMAGE: z.string().default(DEFAULT_IMAGE),
});

export type CliConfig = z.infer<typeof cliConfigSchema>;

export type Environment = Readonly<Record<string, string | undefined>>;

/** What the programs that `up` starts read theirs from. */
export function environment(): Environment {
  return process.env;
}

/** Throws ConfigError naming every variable that is wrong. */
export function readCliConfig(env: Environment = environment()): Readonly<CliConfig> {
  return loadConfig(cliConfigSchema, env);
}
