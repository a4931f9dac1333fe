/** Limits of the fleet, its hosts and workspaces: set, and shown with what is in use. */
import type { ScopeLimits, ScopeView } from "@holdfast/contract";
import { FLEET_SCOPE_ID, type HostStore } from "@holdfast/ledger";
import { boundedCall, type TaskQueue } from "@holdfast/queue";
import { hostIdOf, workspaceOf } from "./task-names.js";
import { wake } from "./wake.js";

export type ScopeRef =
  | { readonly scope: "fleet" }
  | { readonly scope: "workspace"; readonly id: string }
  | { readonly scope: "host"; readonly id: string };

export interface LimitsDeps {
  readonly hosts: Pick<HostStore, "setLimits" | "limits">;
  readonly queue: Pick<TaskQueue, "promote">;
  readonly fail_fast_ms: number;
}

const WORKSPACES_MAX = 10_000;

function idOf(ref: ScopeRef): string {
  switch (ref.scope) {
    case "fleet":
      return FLEET_SCOPE_ID;
    case "workspace":
      return workspaceOf(ref.id);
    case "host":
      return hostIdOf(ref.id);
  }
}

export async function setLimits(deps: LimitsDeps, ref: ScopeRef, limits: ScopeLimits): Promise<void> {
  const id = idOf(ref);
  const promotions = await boundedCall(deps.fail_fast_ms, () => deps.hosts.setLimits(ref.scope, id, limits));
  await wake(deps.queue, promotions);
}

export async function listLimits(deps: LimitsDeps): Promise<readonly ScopeView[]> {
  return (await boundedCall(deps.fail_fast_ms, () => deps.hosts.limits(WORKSPACES_MAX))).scopes;
}
