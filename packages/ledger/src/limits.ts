/** Limits of hosts, workspaces and the fleet, and what each has in use. */
import {
  HoldfastError,
  LIMIT_KEYS,
  type LimitKey,
  type ScopeKind,
  type ScopeLimits,
  type ScopeView,
  scopeLimitsSchema,
  scopeViewSchema,
} from "@holdfast/contract";
import type { Caller } from "./caller.js";
import type { Promotion } from "./delivery.js";
import { FLEET_SCOPE_ID, idPart } from "./keys.js";
import type { LimitsReply } from "./ledger.js";
import { list, promotionsOf, type Reply, tagOf, text, whole } from "./replies.js";

/** Each workspace holds Redis for about 0.06 ms. */
const STEP_MAX = 100;

function invalid(field: string, message: string): HoldfastError {
  return new HoldfastError("INVALID_REQUEST", { field, message });
}

function checked(scope: ScopeKind, limits: ScopeLimits): ScopeLimits {
  const parsed = scopeLimitsSchema.safeParse(limits);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue?.path.join(".") || "limits";
    throw invalid(field, `${field}: a limit is a whole number, 0 or more, or null for none (${issue?.message}).`);
  }
  const foreign = (["queued", "pending_bytes"] as const).find((key) => parsed.data[key] !== undefined);
  if (scope === "host" && foreign !== undefined) {
    throw invalid(foreign, `${foreign} is no limit of a host: tasks are accepted for a workspace and the fleet.`);
  }
  return parsed.data;
}

export async function setLimits(
  caller: Caller,
  scope: ScopeKind,
  id: string,
  limits: ScopeLimits | null,
): Promise<Promotion[]> {
  const of = scope === "fleet" ? FLEET_SCOPE_ID : idPart(id);
  const named: ScopeLimits = limits === null ? {} : checked(scope, limits);
  const fields = LIMIT_KEYS.flatMap((key) => (named[key] === undefined ? [] : [key, named[key] ?? ""]));
  if (limits !== null && fields.length === 0) return [];
  const reply = list(await caller.run("limits-set", [scope, of, ...fields]));
  switch (tagOf(reply, ["set", "unknown", "kept"])) {
    case "set":
      return promotionsOf(reply[1]);
    case "unknown":
      throw new HoldfastError("HOST_NOT_FOUND");
    case "kept":
      throw invalid("limits", "The limits of a host can be changed, not lifted.");
  }
}

/** A row by its scope. Throws HOST_NOT_FOUND. */
export async function readLimits(caller: Caller, scope: ScopeKind, id: string): Promise<ScopeView> {
  const of = scope === "fleet" ? FLEET_SCOPE_ID : idPart(id);
  const [rows] = list(await caller.run("limits-list", ["one", scope, of]));
  const [row] = list(rows);
  if (row === undefined) throw new HoldfastError("HOST_NOT_FOUND");
  return scopeOf(row);
}

export async function listLimits(caller: Caller, workspaces: number, cursor: string | null): Promise<LimitsReply> {
  const step = Math.max(0, Math.min(Math.trunc(workspaces), STEP_MAX));
  const [rows, waiting, next] = list(await caller.run("limits-list", ["step", step, cursor ?? ""]));
  const [host, workspace, fleet] = list(waiting).map(whole);
  return {
    scopes: list(rows).map(scopeOf),
    waiting: { host: whole(host), workspace: whole(workspace), fleet: whole(fleet) },
    cursor: text(next) || null,
  };
}

function scopeOf(reply: Reply): ScopeView {
  const [scope, id, limits, used] = list(reply);
  return scopeViewSchema.parse({ scope, id, limits: numbersOf(limits), used: numbersOf(used) });
}

function numbersOf(reply: Reply | undefined): Record<LimitKey, number | null> {
  const parts = text(reply).split(",");
  const of = (key: LimitKey) => parts[LIMIT_KEYS.indexOf(key)] ?? "";
  const entries = LIMIT_KEYS.map((key) => [key, of(key) === "" ? null : whole(of(key))] as const);
  return Object.fromEntries(entries) as Record<LimitKey, number | null>;
}
