/** What a caller reads about a task that waits. */
import { HoldfastError, type WaitReason, waitReasonSchema } from "@holdfast/contract";

const MESSAGES: Record<WaitReason, string> = {
  queued: "Waits in the queue for a free slot.",
  no_worker: "No running worker offers this image and takes tasks.",
  engine_unavailable: "Every host that offers this image reports its container engine as unavailable.",
  host_full: "No host has the resources free.",
  workspace_full: "The workspace has reached its limit.",
  fleet_full: "The fleet has reached its limit.",
  grants_closed: "The ledger was restarted and grants nothing until earlier permissions have run out.",
  requeued: "An earlier attempt was given back; the next one waits in the queue.",
};

export function waitMessage(reason: string): string {
  const known = waitReasonSchema.safeParse(reason);
  if (known.success) return MESSAGES[known.data];
  throw new HoldfastError("INTERNAL", { message: `no such reason to wait: ${reason}` });
}
