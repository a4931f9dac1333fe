/** What a caller, also a model, reads about a task that waits. */
import { HoldfastError, shortageText, type WaitDetails, type WaitReason, waitReasonSchema } from "@holdfast/contract";

const MESSAGES: Record<WaitReason, string> = {
  queued: "Waits in the queue for a free slot.",
  no_worker: "No running worker offers what the task asks for.",
  draining: "Every host that offers what the task asks for is out of service, or its workers are ending.",
  host_unfit: "Every host that offers what the task asks for has failed its self-check.",
  engine_unavailable: "Every host that offers what the task asks for reports its container engine as unavailable.",
  host_full: "No host has the resources free.",
  workspace_full: "The workspace has reached its limit.",
  fleet_full: "The fleet has reached its limit.",
  grants_closed: "The ledger was restarted and grants nothing until earlier permissions have run out.",
  requeued: "An earlier attempt was given back; the next one waits in the queue.",
};

/** What was in its way when it was parked is not any more. */
function hasRoomAgain(reason: WaitReason, { short, hosts }: WaitDetails): boolean {
  if (reason === "workspace_full" || reason === "fleet_full") return short.length === 0;
  return reason === "host_full" && hosts.some((host) => host.reason === "room");
}

function placeText({ place }: WaitDetails): string {
  if (place === null) return "";
  return place.place === 1
    ? `It is the next of ${place.of} that wait.`
    : `It is number ${place.place} of ${place.of} that wait.`;
}

function detailed(reason: WaitReason, details: WaitDetails): string {
  const first = hasRoomAgain(reason, details)
    ? "There is room again, and who waits longest is next."
    : MESSAGES[reason];
  const limit = details.short.length === 0 ? "" : `${shortageText(details.short)}.`;
  const opens_s = Math.ceil(details.grants_open_in_ms / 1_000);
  const opens = opens_s === 0 ? "" : `Grants open in ${opens_s} s.`;
  return [first, limit, opens, placeText(details)].filter((part) => part !== "").join(" ");
}

export function waitMessage(reason: string, details: WaitDetails | null): string {
  const known = waitReasonSchema.safeParse(reason);
  if (!known.success) throw new HoldfastError("INTERNAL", { message: `no such reason to wait: ${reason}` });
  return details === null ? MESSAGES[known.data] : detailed(known.data, details);
}
