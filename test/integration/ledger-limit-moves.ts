/** Moves of operators: limits set, raised, lowered, lifted. */
import { expect } from "vitest";
import type { LedgerFixture } from "./ledger-fixture.js";
import { HOSTS } from "./ledger-fleet-moves.js";
import { LIMITS_USUAL, type Model, type ModelLimits } from "./ledger-model.js";
import { expectNoneForgotten, followMoves, type Move, move, seen } from "./ledger-move.js";

const SCOPES = [
  ["workspace", "w1"],
  ["workspace", "w2"],
  ["fleet", "all"],
] as const;

/** As they are when a run begins. */
export async function setUsualLimits(model: Model, f: LedgerFixture): Promise<void> {
  for (const [scope, id] of SCOPES) {
    await f.ledger.hosts.setLimits(scope, id, null);
    model.limits.delete(`${scope}:${id}`);
  }
  for (const [scope, id] of SCOPES) {
    const limits = (LIMITS_USUAL as Record<string, ModelLimits>)[`${scope}:${id}`];
    if (limits === undefined) continue;
    await f.ledger.hosts.setLimits(scope, id, limits);
    model.limits.set(`${scope}:${id}`, limits);
  }
  for (const [index, host] of model.hosts.entries()) {
    const limits = HOSTS[index];
    if (limits === undefined) continue;
    await f.ledger.hosts.setLimits("host", host.host_id, limits);
    Object.assign(host, limits);
  }
}

const VALUES = {
  slots: [null, 0, 1, 2, 3, 3],
  cpu_milli: [null, null, 0, 1_000, 2_000, 4_000],
  queued: [null, null, 0, 2, 4, 4],
  pending_bytes: [null, null, 0, 1_200, 3_000, 3_000],
} as const satisfies Record<keyof ModelLimits, readonly (number | null)[]>;

export function setLimit(at: number, key: keyof ModelLimits, nth: number): Move {
  const value = VALUES[key][nth % VALUES[key].length] ?? null;
  return move(`limit ${key} of scope ${at} to ${value}`, async (model, f) => {
    const [scope, id] = SCOPES[at % SCOPES.length] ?? SCOPES[0];
    const { [key]: _, ...others } = model.limits.get(`${scope}:${id}`) ?? {};
    model.limits.set(`${scope}:${id}`, value === null ? others : { ...others, [key]: value });
    const named = await f.ledger.hosts.setLimits(scope, id, { [key]: value });
    await followMoves(model, f);
    expectNoneForgotten(model, named, ({ wait_scope, name }) => wait_scope !== "workspace" || name.workspace_id === id);
    seen(`limit wakes ${named.length > 0}`);
    return undefined;
  });
}

export function setHostLimit(at: number, key: "slots" | "cpu_milli", nth: number): Move {
  const value = [0, 1, 2, 2, 3, 3][nth % 6] ?? 0;
  return move(`limit ${key} of host ${at} to ${value}`, async (model, f) => {
    const host = model.hosts[at % model.hosts.length];
    if (!host) return undefined;
    host[key] = key === "slots" ? value : value * 1_000;
    const named = await f.ledger.hosts.setLimits("host", host.host_id, { [key]: host[key] });
    await followMoves(model, f);
    expectNoneForgotten(model, named, ({ wait_scope }) => wait_scope !== "workspace");
    expect((await f.ledger.hosts.list()).find(({ host_id }) => host_id === host.host_id)?.limits).toMatchObject({
      slots: host.slots,
      cpu_milli: host.cpu_milli,
    });
    return undefined;
  });
}
