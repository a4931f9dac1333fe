/** The only place where the worker reads its environment. */
import { fileURLToPath } from "node:url";
import { LOG_LEVELS, loadConfig } from "@holdfast/chassis";
import { DEFAULT_IMAGE, fleetIdSchema, keyPrefixSchema, type Retention } from "@holdfast/contract";
import { z } from "zod";
import { parsePinnedKeys } from "./pool/pinned-keys.js";

/** The repository's folders, from the built program and from its source alike. */
const root = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

const flag = z
  .enum(["true", "false", "1", "0"], "must be true or false")
  .default("false")
  .transform((text) => text === "true" || text === "1");
const pinnedKeys = z
  .string()
  .default("")
  .superRefine((text, context) => {
    for (const message of parsePinnedKeys(text).refusals) context.addIssue({ code: "custom", message });
  });
const whole = z.coerce.number().int("must be a whole number");

export const workerConfigSchema = z.object({
  /** The fleet's Redis. */
  REDIS_URL: z
    .string()
    .regex(/^rediss?:\/\//, "must be a redis:// or rediss:// address")
    .default("redis://127.0.0.1:6379"),
  /** First part of every key; one fleet, one prefix. */
  HOLDFAST_PREFIX: keyPrefixSchema.default("holdfast"),
  /** First part of BullMQ's keys. */
  HOLDFAST_QUEUE_PREFIX: keyPrefixSchema.default("bull"),
  /** The fleet this worker belongs to; without it the one recorded in the ledger. */
  HOLDFAST_FLEET: fleetIdSchema.optional(),
  /** The engine's socket. Workers talk to the engine of their own machine only. */
  DOCKER_HOST: z
    .string()
    .regex(/^unix:\/\/\/./, "must be unix:// and a path: a worker serves the engine of its own machine")
    .default("unix:///var/run/docker.sock"),
  /** Limits of the host, for all its workers together. The first worker fixes them; without any, defaults hold. */
  HOLDFAST_SLOTS: whole.min(1).max(10_000).optional(),
  /** Cores promised in all. */
  HOLDFAST_CPU: z.coerce.number().positive().max(65_536).optional(),
  HOLDFAST_MEMORY_MB: whole.min(64).optional(),
  HOLDFAST_PIDS: whole.min(16).optional(),
  /** The list of images that may be run. */
  HOLDFAST_IMAGES: z.string().min(1).default(root("images/allow.json")),
  /** File with credentials for registries, in the form of Docker's config.json. */
  HOLDFAST_REGISTRY_CREDENTIALS: z.string().min(1).optional(),
  /** Folder that holds the built guest agent. */
  HOLDFAST_AGENT_DIRECTORY: z.string().min(1).default(root("packages/guest/build")),
  /** Sandboxes of the default image and resources that wait ready for a task; 0 keeps none. */
  HOLDFAST_POOL: whole.min(0).max(1_000).default(2),
  /** Further kinds to keep one of ready each: IMAGE:CPU:MEMORY, parted by commas or blanks. */
  HOLDFAST_POOL_KEYS: pinnedKeys,
  /** The default image of that pool, as of the command line. */
  HOLDFAST_IMAGE: z.string().min(1).default(DEFAULT_IMAGE),
  HOLDFAST_HEALTH_HOST: z.string().min(1).default("127.0.0.1"),
  /** 0 takes a free one. */
  HOLDFAST_HEALTH_PORT: whole.min(0).max(65_535).default(7071),
  /** The same port of a supervisor, which may run beside a worker; 0 takes a free one. */
  HOLDFAST_SUPERVISE_PORT: whole.min(0).max(65_535).default(7072),
  /** How long running tasks may go on after SIGTERM, in seconds; then they are handed back. */
  HOLDFAST_DRAIN_GRACE_SECONDS: z.coerce.number().min(0).max(86_400).default(30),
  /** How much of what has ended the fleet keeps; the last program that sets one sets it for all. */
  HOLDFAST_RETENTION_RECORDS_SECONDS: whole.min(60).max(2_592_000).optional(),
  HOLDFAST_RETENTION_OUTPUT_SECONDS: whole.min(60).max(2_592_000).optional(),
  /** Records of ended tasks that each workspace keeps; 0 for any number. */
  HOLDFAST_RETENTION_RECORDS_MAX: whole.min(0).optional(),
  /** No record goes for its workspace's number of them before it is this old. */
  HOLDFAST_RETENTION_RECORDS_SECONDS_MIN: whole.min(0).max(86_400).optional(),
  HOLDFAST_RETENTION_JOBS_MAX: whole.min(0).max(1_000).optional(),
  /** A worker proves its limits at its start and so often, in seconds; 0 never does. */
  HOLDFAST_SELF_CHECK_SECONDS: whole.min(0).max(604_800).default(3_600),
  /** After a failed proof the host takes no tasks, and is tried again so often, in seconds. */
  HOLDFAST_SELF_CHECK_RETRY_SECONDS: whole.min(1).max(86_400).default(60),
  HOLDFAST_LOG_LEVEL: z.enum(LOG_LEVELS).default("info"),
  /** Accept a Redis that keeps no append-only file: a crash of it may lose accepted tasks. */
  HOLDFAST_ALLOW_NO_AOF: flag,
  /** Accept a Redis that may evict keys when its memory is full. */
  HOLDFAST_ALLOW_EVICTION: flag,
});

export type WorkerConfig = z.infer<typeof workerConfigSchema>;

/** Path of the engine's socket. */
export function engineSocketOf(config: Pick<WorkerConfig, "DOCKER_HOST">): string {
  return config.DOCKER_HOST.slice("unix://".length);
}

/** What this program sets for its fleet; what is absent stays as the fleet has it. */
export function retentionOf(config: WorkerConfig): Partial<Retention> {
  const seconds = (value: number | undefined) => (value === undefined ? undefined : value * 1_000);
  const all = {
    record_ms: seconds(config.HOLDFAST_RETENTION_RECORDS_SECONDS),
    output_ms: seconds(config.HOLDFAST_RETENTION_OUTPUT_SECONDS),
    records_max: config.HOLDFAST_RETENTION_RECORDS_MAX,
    records_min_ms: seconds(config.HOLDFAST_RETENTION_RECORDS_SECONDS_MIN),
    jobs_max: config.HOLDFAST_RETENTION_JOBS_MAX,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** Variables whose values are never shown whole. Passwords inside URLs are masked anyway. */
export const WORKER_SECRETS: readonly string[] = [];

/** Throws ConfigError naming every variable that is wrong. */
export function readWorkerConfig(env: NodeJS.ProcessEnv = process.env): Readonly<WorkerConfig> {
  return loadConfig(workerConfigSchema, env);
}
