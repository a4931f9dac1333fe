/** What a task asks for, and the amount a reservation counts for it. */
import { z } from "zod";
import { MEMORY_OVERHEAD_MB, PIDS_OVERHEAD, RESOURCES_MIN } from "./bounds.js";
import { type TaskError, taskError } from "./errors.js";

export const resourcesSchema = z.strictObject({
  /** Cores. */
  cpu: z.number().positive().max(1024).default(1),
  memory_mb: z.int().min(1).max(4_194_304).default(512),
  /** Size of /workspace; lives in memory and is charged to the sandbox. */
  disk_mb: z.int().min(1).max(1_048_576).default(256),
  pids_limit: z.int().min(1).max(32_768).default(128),
});
export type Resources = z.infer<typeof resourcesSchema>;

/** Whole numbers, so that sums in the ledger are exact. `cpu_milli` is a thousandth of a core. */
export const amountSchema = z.object({
  slots: z.int().nonnegative(),
  cpu_milli: z.int().nonnegative(),
  memory_mb: z.int().nonnegative(),
  pids: z.int().nonnegative(),
});
export type Amount = z.infer<typeof amountSchema>;
export const AMOUNT_KEYS = ["slots", "cpu_milli", "memory_mb", "pids"] as const;

/** What may be limited besides: tasks that are PENDING, and bytes of the bodies of all that have not ended. */
export const LIMIT_KEYS = [...AMOUNT_KEYS, "queued", "pending_bytes"] as const;
export type LimitKey = (typeof LIMIT_KEYS)[number];

/** Limits of a scope to be set. What is not named stays as it is; null lifts one. */
export const scopeLimitsSchema = z.strictObject({
  slots: z.int().nonnegative().nullable().optional(),
  cpu_milli: z.int().nonnegative().nullable().optional(),
  memory_mb: z.int().nonnegative().nullable().optional(),
  pids: z.int().nonnegative().nullable().optional(),
  queued: z.int().nonnegative().nullable().optional(),
  pending_bytes: z.int().nonnegative().nullable().optional(),
});
export type ScopeLimits = z.infer<typeof scopeLimitsSchema>;

/** The amount that one sandbox with these resources takes of a host. */
export function amountOf(resources: Resources): Amount {
  return {
    slots: 1,
    cpu_milli: Math.ceil(resources.cpu * 1000),
    memory_mb: sandboxMemoryMb(resources),
    pids: resources.pids_limit + PIDS_OVERHEAD,
  };
}

/** Memory limit of the whole sandbox in MiB: the caller's memory, its tmpfs, and our share. */
export function sandboxMemoryMb(resources: Resources): number {
  return resources.memory_mb + resources.disk_mb + MEMORY_OVERHEAD_MB;
}

/** The amounts that `wanted` exceeds in `limit`; empty where it fits. */
export function exceeds(wanted: Amount, limit: Amount): (keyof Amount)[] {
  return AMOUNT_KEYS.filter((key) => wanted[key] > limit[key]);
}

/** RESOURCES_TOO_SMALL naming field and minimum, or null where a sandbox can start with them. */
export function tooSmall(resources: Resources): TaskError | null {
  for (const key of ["cpu", "memory_mb", "disk_mb", "pids_limit"] as const) {
    const minimum = RESOURCES_MIN[key];
    if (resources[key] >= minimum) continue;
    const message = `resources.${key} is ${resources[key]}; a sandbox needs at least ${minimum} to start.`;
    return taskError("RESOURCES_TOO_SMALL", { message, evidence: { field: `resources.${key}`, minimum } });
  }
  return null;
}
