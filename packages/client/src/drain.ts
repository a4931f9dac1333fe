/** Takes a host out of service and back: a fact of the ledger, of which the host's workers hear by their bells. */
import { HoldfastError } from "@holdfast/contract";
import type { HostStore } from "@holdfast/ledger";
import { boundedCall, type TaskQueue } from "@holdfast/queue";
import { hostIdOf } from "./task-names.js";
import { wake } from "./wake.js";

export interface DrainDeps {
  readonly hosts: Pick<HostStore, "setDraining">;
  readonly queue: Pick<TaskQueue, "promote">;
  readonly fail_fast_ms: number;
}

export async function setDraining(deps: DrainDeps, host_id: string, draining: boolean): Promise<void> {
  const host = hostIdOf(host_id);
  const reply = await boundedCall(deps.fail_fast_ms, () => deps.hosts.setDraining(host, draining));
  if (reply.kind === "unknown") throw new HoldfastError("HOST_NOT_FOUND");
  await wake(deps.queue, reply.promotions);
}
