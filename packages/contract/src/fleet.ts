/** Views of tasks, hosts, boots and sandboxes, as status commands and pages show them. */
import { z } from "zod";
import { bootIdSchema, fleetIdSchema, hostIdSchema, sandboxIdSchema, taskIdSchema, workspaceIdSchema } from "./ids.js";
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
export const imageOfferSchema = z.object({ image: z.string(), digest: z.string() });
export type ImageOffer = z.infer<typeof imageOfferSchema>;

export const hostViewSchema = z.object({
  host_id: hostIdSchema,
  limits: amountSchema,
  /** Sum of pending, active and draining reservations. */
  reserved: amountSchema,
  images: z.array(imageOfferSchema),
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
    }),
  ),
});
export type HostView = z.infer<typeof hostViewSchema>;

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
