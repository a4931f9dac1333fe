/** What stands where nobody heard what became of a sandbox: it counts as there until somebody proves it gone. */
import { deadline } from "@holdfast/chassis";
import { TIMES, taskError } from "@holdfast/contract";
import type { ContainerReceipt, CreateReply } from "./engine.js";

const UNPROVEN: ContainerReceipt = { proven: false, kill_ms: null, remove_ms: null };

/** A destroy that never answers must hold nobody for ever. */
const DESTROY_DEADLINE_MS = TIMES.engine_kill_ms + TIMES.engine_remove_ms;

/** Before a destroy that was not proven is tried again. */
export const DESTROY_RETRY_MS = 2_000;

/** The receipt of one try to destroy: unproven where it failed, or was not given in time. */
export function boundedReceipt(receipt: Promise<ContainerReceipt>): Promise<ContainerReceipt> {
  return deadline(
    receipt.catch(() => UNPROVEN),
    DESTROY_DEADLINE_MS,
    () => UNPROVEN,
  );
}

/** Of a creation that threw: the capacity stays held until a sweep or a successor proves its sandbox gone. */
export function creationThrew(): CreateReply {
  const cleanup = Promise.resolve(UNPROVEN);
  return { kind: "failed", failure: { error: taskError("INTERNAL"), hand_back: true, tries: 1, cleanup } };
}
