/** Views of tasks in progress, hosts, boots and sandboxes, as status commands and pages show them. */
import { z } from "zod";
import { bootIdSchema, fleetIdSchema, hostIdSchema, sandboxIdSchema, taskIdSchema, workspaceIdSchema } from "./ids.js";
import { outcomeSchema, taskStatusSchema } from "./outcome.js";
import { amountSchema } from "./resources.js";

export const SCOPE_KINDS = ["host", "workspace", "fleet"] as const;
export type ScopeKind = (typeof SCOPE_KINDS)[number];

/** Why a task is not running yet. */
export const WAIT_REASONS = [
  "queued",
  "no_worker",
  "engine_unavailable",
  "host_full",
  "workspace_full",
  "fleet_full",
  "grants_closed",
  "requeued",
] as const;
export const waitReasonSchema = z.enum(WAIT_REASONS);
export type WaitReason = z.infer<typeof waitReasonSchema>;

export const taskViewSchema = z.object({
  workspace_id: workspaceIdSchema,
  task_id: taskIdSchema,
  status: taskStatusSchema,
  attempt: z.int(),
  delivery: z.int(),
  image: z.string(),
  cancel_requested: z.boolean(),
  accepted_at_ms: z.int(),
  /** Set while PENDING. */
  waiting: z.object({ reason: waitReasonSchema, message: z.string(), since_ms: z.int() }).nullable(),
  /** Set while RUNNING. */
  host_id: hostIdSchema.nullable(),
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

export const fleetViewSchema = z.object({ fleet_id: fleetIdSchema, schema: z.int() });
export type FleetView = z.infer<typeof fleetViewSchema>;
