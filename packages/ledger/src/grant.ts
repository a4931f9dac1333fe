/** The grant as scripts take and give it. */
import { fenceSchema, ownerTokenSchema, sandboxIdSchema } from "@holdfast/contract";
import { idPart } from "./keys.js";
import type { AdmitCall, Grant } from "./ledger.js";
import { type Reply, whole } from "./replies.js";

/** What guards every write of a running task (L2). */
export function grantArguments(grant: Grant): (string | number)[] {
  return [
    ...[idPart(grant.workspace_id), idPart(grant.task_id), idPart(grant.boot_id), idPart(grant.owner_token)],
    ...[grant.generation, grant.fence],
  ];
}

/** The sandbox and token of the reply may be those of an earlier admit of the same delivery. */
export function grantOf(call: AdmitCall, reply: readonly Reply[]): Grant {
  const [, token, sandbox, attempt, generation, fence, accepted, granted, sequence] = reply;
  return {
    workspace_id: call.workspace_id,
    task_id: call.task_id,
    boot_id: call.boot_id,
    host_id: call.host_id,
    delivery: call.delivery,
    owner_token: ownerTokenSchema.parse(token),
    sandbox_id: sandboxIdSchema.parse(sandbox),
    attempt: whole(attempt),
    generation: whole(generation),
    fence: fenceSchema.parse(fence),
    accepted_at_ms: whole(accepted),
    granted_at_ms: whole(granted),
    sequence: whole(sequence),
  };
}
