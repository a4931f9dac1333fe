/** Where a task stands before and after it runs, and why it waits, in words that are safe to show to a model. */
import { z } from "zod";
import { hostIdSchema } from "./ids.js";
import { AMOUNT_KEYS, type Amount } from "./resources.js";

export const SCOPE_KINDS = ["host", "workspace", "fleet"] as const;
export type ScopeKind = (typeof SCOPE_KINDS)[number];

/** Where a task stands, finer than its status. */
export const TASK_PHASES = [
  /** PENDING: its delivery is on a queue, and no worker has found it without room. */
  "queued",
  /** PENDING: refused for want of room, and in a waiting list. */
  "parked",
  /** PENDING: on its way to a worker of a host that has room. */
  "sent_to_boot",
  /** RUNNING: granted; no user code has started. */
  "creating",
  "running",
  /** RUNNING under a boot that is DEAD: a live worker takes it over. */
  "recovering",
  /** Ended; its sandbox is not yet proven gone and holds capacity. */
  "cleanup_pending",
  "ended",
] as const;
export type TaskPhase = (typeof TASK_PHASES)[number];

/** Why a task is not running yet. */
export const WAIT_REASONS = [
  "queued",
  "no_worker",
  "draining",
  "host_unfit",
  "engine_unavailable",
  "host_full",
  "workspace_full",
  "fleet_full",
  "grants_closed",
  "requeued",
] as const;
export const waitReasonSchema = z.enum(WAIT_REASONS);
export type WaitReason = z.infer<typeof waitReasonSchema>;

/** Why a host does not take a task now; of `room`, that it would. */
export const HOST_REASONS = {
  room: "has room for it",
  full: "has too little free",
  kept_for_older: "keeps its room for a task that waits longer",
  draining: "is out of service, or its workers are ending",
  no_worker: "has no running worker",
  host_unfit: "has failed its self-check",
  engine_unavailable: "reports its container engine as unavailable",
  grants_closed: "grants nothing yet after a restart of the ledger",
  image_absent: "does not offer the image",
  runtime_absent: "does not offer the runtime",
  too_small: "is smaller than what is asked for",
} as const;
export type HostReason = keyof typeof HOST_REASONS;
const hostReasonSchema = z.enum(Object.keys(HOST_REASONS) as [HostReason, ...HostReason[]]);

/** An amount of which too little is left, in the units of a reservation. */
export const shortageSchema = z.object({
  amount: z.enum(AMOUNT_KEYS),
  wanted: z.int(),
  reserved: z.int(),
  limit: z.int(),
});
export type Shortage = z.infer<typeof shortageSchema>;

/** Why one task waits, as the ledger stands now. */
export const waitDetailsSchema = z.object({
  /** Whose limit keeps it: of the list it is in, else the one it would meet now; null where none does. */
  scope: z.enum(SCOPE_KINDS).nullable(),
  /** What is short in workspace or fleet; a host's stands with the host. Empty once there is room again. */
  short: z.array(shortageSchema),
  /** Its place in its waiting list, 1 being next, and how many wait there; null where it is in none. */
  place: z.object({ list: z.enum(["workspace", "fleet"]), place: z.int(), of: z.int() }).nullable(),
  hosts: z.array(z.object({ host_id: hostIdSchema, reason: hostReasonSchema, short: z.array(shortageSchema) })),
  /** The host whose worker its delivery was sent to. */
  sent_to_host_id: hostIdSchema.nullable(),
  /** 0 where grants are open. One host may be closed for longer: while its engine shows unknown sandboxes. */
  grants_open_in_ms: z.int(),
  /** When it ends with QUEUE_TIMEOUT, by Redis's clock. */
  queue_timeout_at_ms: z.int().nullable(),
});
export type WaitDetails = z.infer<typeof waitDetailsSchema>;

const UNITS: Record<keyof Amount, string> = {
  slots: "slots",
  cpu_milli: "thousandths of a core",
  memory_mb: "MiB of memory",
  pids: "processes",
};

/** `2 of 2 slots taken, 1 wanted`; several by `; `. */
export function shortageText(short: readonly Shortage[]): string {
  const one = ({ amount, wanted, reserved, limit }: Shortage) =>
    `${reserved} of ${limit} ${UNITS[amount]} taken, ${wanted} wanted`;
  return short.map(one).join("; ");
}
