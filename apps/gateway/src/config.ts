/** The only place where the gateway reads its environment. */
import { LOG_LEVELS, loadConfig } from "@holdfast/chassis";
import { keyPrefixSchema } from "@holdfast/contract";
import { z } from "zod";

export const gatewayConfigSchema = z.object({
  /** The fleet's Redis. */
  REDIS_URL: z.string().default("redis://127.0.0.1:6379"),
  /** First part of every key; one fleet, one prefix. */
  HOLDFAST_PREFIX: keyPrefixSchema.default("holdfast"),
  /** First part of BullMQ's keys. */
  HOLDFAST_QUEUE_PREFIX: keyPrefixSchema.default("bull"),
  /** Address the gateway listens on. */
  HOLDFAST_GATEWAY_HOST: z.string().default("127.0.0.1"),
  /** 0 takes a free one. */
  HOLDFAST_GATEWAY_PORT: z.coerce.number().int().min(0).max(65_535).default(7070),
  /** Opens /queues to the user `operator`; without it only this machine may look. */
  HOLDFAST_OPERATOR_PASSWORD: z.string().min(12, "must be 12 characters at least").optional(),
  HOLDFAST_LOG_LEVEL: z.enum(LOG_LEVELS).default("info"),
});

export type GatewayConfig = z.infer<typeof gatewayConfigSchema>;

/** Variables whose values are never shown. */
export const GATEWAY_SECRETS: readonly string[] = ["HOLDFAST_OPERATOR_PASSWORD"];

/** Throws ConfigError naming every variable that is wrong. */
export function readGatewayConfig(env: NodeJS.ProcessEnv = process.env): Readonly<GatewayConfig> {
  return loadConfig(gatewayConfigSchema, env);
}
