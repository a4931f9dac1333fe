/** Limits of the fleet, its hosts and workspaces: set, and shown with what is in use. */
import type { ScopeLimits, ScopeView } from "@holdfast/contract";
import { FLEET_SCOPE_ID, type HostStore, type LimitsReply } from "@holdfast/ledger";
import { boundedCall, type TaskQueue } from "@holdfast/queue";
import { hostIdOf, workspaceOf } from "./task-names.js";
import { wake } from "./wake.js";

export type ScopeRef =
  | { readonly scope: "fleet" }
  | { readonly scope: "workspace"; readonly id: string }
  | { readonly scope: "host"; readonly id: string };

export interface LimitsDeps {
  readonly hosts: Pick<HostStore, "setLimits" | "limits" | "limitsOf">;
  readonly queue: Pick<TaskQueue, "promote">;
  readonly fail_fast_ms: number;
}

const STEP = 50;

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

export function limitsOf(deps: LimitsDeps, ref: ScopeRef): Promise<ScopeView> {
  const id = idOf(ref);
  return boundedCall(deps.fail_fast_ms, () => deps.hosts.limitsOf(ref.scope, id));
}

/** In steps that each hold Redis for a few milliseconds: the fleet, hosts and workspaces, these by id. */
export async function listLimits(deps: LimitsDeps): Promise<readonly ScopeView[]> {
  const [others, workspaces]: [ScopeView[], Map<string, ScopeView>] = [[], new Map()];
  let cursor: string | null = null;
  do {
    const from: string | null = cursor;
    const page: LimitsReply = await boundedCall(deps.fail_fast_ms, () => deps.hosts.limits(STEP, from));
    for (const view of page.scopes) {
      if (view.scope === "workspace") workspaces.set(view.id, view);
      else others.push(view);
    }
    cursor = page.cursor;
  } while (cursor !== null);
  return [...others, ...[...workspaces.values()].toSorted((one, other) => (one.id < other.id ? -1 : 1))];
}
