/** Views of tasks, hosts, boots and sandboxes, as status commands and pages show them. */
import { z } from "zod";
import {
  type BootId,
  bootIdSchema,
  fleetIdSchema,
  hostIdSchema,
  type SandboxId,
  sandboxIdSchema,
  taskIdSchema,
  workspaceIdSchema,
} from "./ids.js";
import { outcomeSchema, taskStatusSchema } from "./outcome.js";
import { amountSchema, LIMIT_KEYS } from "./resources.js";
import { SCOPE_KINDS, TASK_PHASES, waitDetailsSchema, waitReasonSchema } from "./waiting.js";

export const taskViewSchema = z.object({
  workspace_id: workspaceIdSchema,
  task_id: taskIdSchema,
  status: taskStatusSchema,
  phase: z.enum(TASK_PHASES),
  attempt: z.int(),
  delivery: z.int(),
  image: z.string(),
  cancel_requested: z.boolean(),
  accepted_at_ms: z.int(),
  ended_at_ms: z.int().nullable(),
  /** Set while PENDING; `details` where one task was asked for. */
  waiting: z
    .object({
      reason: waitReasonSchema,
      message: z.string(),
      since_ms: z.int(),
      details: waitDetailsSchema.nullable(),
      /** Somebody paused the queue: nothing is fetched until it is resumed. Absent where that was not asked. */
      queue_paused: z.boolean().optional(),
    })
    .nullable(),
  /** Set while RUNNING. */
  host_id: hostIdSchema.nullable(),
  /** Attempts that were given back: `<attempt>: <reason> on <host>`, by `; `. */
  given_back: z.string().nullable(),
  /** A sandbox of the task that nobody runs in any more still holds capacity. */
  cleanup_pending: z.boolean(),
  events: z.int(),
  /** Without output text. */
  outcome: outcomeSchema.nullable(),
});
export type TaskView = z.infer<typeof taskViewSchema>;

/** An image a host offers. `digest` is the registry's where there is one, else the image id. */
export const imageOfferSchema = z.object({
  image: z.string(),
  digest: z.string(),
  /** What the check by a real run found, each with its version or null where it tells none. Absent: not checked. */
  holds: z
    .object({
      programs: z.record(z.string(), z.string().nullable()),
      imports: z.record(z.string(), z.string().nullable()),
    })
    .optional(),
});
export type ImageOffer = z.infer<typeof imageOfferSchema>;
export type ImageHolds = NonNullable<ImageOffer["holds"]>;

/** An image that is allowed on a host and not offered there. */
export const refusedImageSchema = z.object({
  image: z.string(),
  /** Safe to show; holds no path, address or engine text. */
  reason: z.string(),
  /** True where the allow list says that it may be absent, and it is. */
  expected: z.boolean(),
});
export type RefusedImage = z.infer<typeof refusedImageSchema>;

/** What a host notes of one image: what it holds, or why it is not offered. */
export const imageNoteSchema = z.object({
  holds: imageOfferSchema.shape.holds,
  refusal: refusedImageSchema.omit({ image: true }).optional(),
});
export type ImageNote = z.infer<typeof imageNoteSchema>;

/** What a boot's pool reserves of its host for sandboxes that wait: these run nothing, so neither slots nor cpu. */
export const sliceSchema = z.object({ memory_mb: z.int().nonnegative(), pids: z.int().nonnegative() });
export type Slice = z.infer<typeof sliceSchema>;

/** One kind of warm sandbox that a boot keeps, as it said last: shown, never decided by. */
export const poolKeyViewSchema = z.object({
  image: z.string(),
  image_digest: z.string(),
  runtime: z.string(),
  cpu: z.number(),
  memory_mb: z.int(),
  disk_mb: z.int(),
  pids_limit: z.int(),
  /** Asked for by an operator; others come by recent demand. */
  pinned: z.boolean(),
  /** How many members there should be, are ready, and are on their way. */
  wanted: z.int(),
  ready: z.int(),
  filling: z.int(),
  /** Tasks of this kind since the boot began, that found a member and that did not. */
  hits: z.int(),
  misses: z.int(),
});
export type PoolKeyView = z.infer<typeof poolKeyViewSchema>;

export const hostViewSchema = z.object({
  host_id: hostIdSchema,
  limits: amountSchema,
  /** Sum of pending, active and draining reservations, and of the slices of its boots. */
  reserved: amountSchema,
  /** The part of `reserved` that is slices. */
  pool_reserved: sliceSchema,
  images: z.array(imageOfferSchema),
  refused_images: z.array(refusedImageSchema),
  runtimes: z.array(z.string()),
  /** False while its workers report the engine as sick. */
  engine_healthy: z.boolean(),
  /** True while the host is out of service: what runs there goes on, nothing new starts. */
  draining: z.boolean(),
  engine_version: z.string(),
  boots: z.array(
    z.object({
      boot_id: bootIdSchema,
      state: z.enum(["LIVE", "DRAINING", "DEAD"]),
      lease_left_ms: z.int(),
      held: z.int(),
      slice: sliceSchema,
      pool: z.array(poolKeyViewSchema),
      /** Checks of its host that it found failed, by name: while there is one it takes no task. */
      failed_checks: z.array(z.string()),
    }),
  ),
});
export type HostView = z.infer<typeof hostViewSchema>;

/** A sandbox that is alive on an engine and that the worker which saw it does not hold. */
export interface StrangeSandbox {
  readonly sandbox_id: SandboxId;
  /** The boot that made it for its pool, and answers for it while it may act; null where a task's admit named it. */
  readonly pool_of: BootId | null;
}

export const RESERVATION_STATES = ["pending", "active", "draining"] as const;
export const sandboxViewSchema = z.object({
  sandbox_id: sandboxIdSchema,
  workspace_id: workspaceIdSchema,
  task_id: taskIdSchema,
  host_id: hostIdSchema,
  boot_id: bootIdSchema,
  attempt: z.int(),
  state: z.enum(RESERVATION_STATES),
  amount: amountSchema,
  /**
   * The ledger was told that this sandbox serves, before the first user byte. Until then it is only a name: a warm one
   * may have been taken in its place.
   */
  assigned: z.boolean(),
  /** True from settle until the container is proven gone. */
  cleanup_pending: z.boolean(),
});
export type SandboxView = z.infer<typeof sandboxViewSchema>;

/** What a scope has of each limit at once; null where that does not apply to the scope. */
const useSchema = amountSchema.extend({ queued: z.int().nullable(), pending_bytes: z.int().nullable() });

export const scopeViewSchema = z.object({
  scope: z.enum(SCOPE_KINDS),
  /** A workspace_id, a host_id, or `all` for the fleet. */
  id: z.string(),
  /** As in effect; null where there is none. */
  limits: z.record(z.enum(LIMIT_KEYS), z.int().nullable()),
  used: useSchema,
});
export type ScopeView = z.infer<typeof scopeViewSchema>;

export const fleetViewSchema = z.object({ fleet_id: fleetIdSchema, schema: z.int() });
export type FleetView = z.infer<typeof fleetViewSchema>;
