/** A sandbox on its way: it may be wanted no more before it exists, and is cleaned up whatever became of it (E1). */
import { pause, unlessAborted } from "@holdfast/chassis";
import { TIMES } from "@holdfast/contract";
import {
  boundedReceipt,
  type ContainerReceipt,
  type CreateReply,
  creationThrew,
  DESTROY_RETRY_MS,
  type SandboxSpec,
} from "@holdfast/engine";
import type { Attempt, AttemptDeps } from "./attempt.js";
import { createPermission, type Permission } from "./permission.js";

export interface Creation {
  readonly reply: Promise<CreateReply>;
  /** True once a sandbox that had waited for its task was taken. */
  readonly warm: boolean;
  readonly permission: Permission;
  /** One try to be rid of it; `proven` tells whether it worked. */
  destroy(): Promise<ContainerReceipt>;
  /** Tries until it is proven gone, or `stop` is aborted: then false. */
  gone(stop: AbortSignal): Promise<boolean>;
}

/** Creation tries and their back-off, before the assignment is timed by the agent itself. */
export const SET_UP_SECONDS = 4 * (TIMES.creation_try_ms / 1_000);

/** Life from assignment on, in seconds: the command's limit with room for its end. */
export function assignedSeconds(timeout_seconds: number): number {
  return Math.ceil(Math.max(timeout_seconds * 1.5, timeout_seconds + 30));
}

function specOf(attempt: Attempt, permission: Permission): SandboxSpec {
  const { request, grant } = attempt;
  return {
    sandbox_id: grant.sandbox_id,
    purpose: "task",
    image: request.image,
    resources: request.resources,
    runtime: request.runtime,
    lifetime_seconds: SET_UP_SECONDS + assignedSeconds(request.timeout_seconds),
    permission: permission.ask,
  };
}

export function beginCreation(deps: AttemptDeps, attempt: Attempt): Creation {
  const permission = createPermission(deps.lease);
  let warm = false;

  async function obtain(): Promise<CreateReply> {
    const sandbox = await deps.claimWarm(attempt, permission);
    if (sandbox === null) return deps.engine.create(specOf(attempt, permission));
    warm = true;
    return { kind: "ready", sandbox };
  }

  const reply = obtain().catch((error: unknown): CreateReply => {
    deps.logger.error("create_threw", { error });
    return creationThrew();
  });

  async function destroy(): Promise<ContainerReceipt> {
    const created = await reply;
    return boundedReceipt(created.kind === "ready" ? created.sandbox.destroy() : created.failure.cleanup);
  }

  return {
    reply,
    get warm() {
      return warm;
    },
    permission,
    destroy,
    gone: async (stop) => {
      do {
        const receipt = await unlessAborted(destroy(), stop);
        if (receipt?.proven) return true;
        await pause(DESTROY_RETRY_MS, stop);
      } while (!stop.aborted);
      return false;
    },
  };
}
