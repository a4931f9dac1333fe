/** A crash of Redis that loses its tail: the ledger is again what it was some moves ago, the world is not. */
import { LOST_TAIL_MS } from "@holdfast/ledger";
import { expect } from "vitest";
import { LEASE_MS, type LedgerFixture, outcomeOf } from "./ledger-fixture.js";
import { type Model, type ModelGrant, sandboxOf } from "./ledger-model.js";
import { type Move, move, seen } from "./ledger-move.js";

interface Mark {
  readonly elapsed_ms: number;
  readonly dumps: readonly { readonly key: string; readonly value: Buffer; readonly life_ms: number }[];
  readonly records: Record<string, unknown>;
}

const marks = new WeakMap<Model, Mark>();

/** All of the model but the world: what Redis would find on its disk. */
function recordsOf(model: Model): Record<string, unknown> {
  const { world: _, ...records } = model;
  return structuredClone(records);
}

export const mark = (): Move =>
  move("mark what is on the disk", async (model, f) => {
    const keys = await f.redis.keys(`${f.root}:*`);
    const dumps = await Promise.all(
      keys.map(async (key) => ({ key, value: await f.redis.dumpBuffer(key), life_ms: await f.redis.pttl(key) })),
    );
    marks.set(model, { elapsed_ms: model.world.elapsed_ms, dumps, records: recordsOf(model) });
    return undefined;
  });

/** Everything since the mark is forgotten, where that is within the tail, and Redis runs under another id. */
export const loseTail = (): Move =>
  move("crash that loses the tail", async (model, f) => {
    const kept = marks.get(model);
    if (!kept || model.world.elapsed_ms - kept.elapsed_ms >= LOST_TAIL_MS) return undefined;
    seen("lost tail");
    const held = model.grants.filter(({ open }) => open);
    await restore(f, kept);
    Object.assign(model, structuredClone(kept.records));
    model.run += 1;
    model.opens_at_ms = model.now_ms + LEASE_MS;
    for (const boot of model.boots) {
      boot.silent = true;
      // L4: nobody acted on a death that this crash takes back.
      if (model.world.acted.has(boot.worker.boot_id)) expect(boot.state).toBe("DEAD");
    }
    const known = new Set(model.grants.map(({ grant }) => grant.owner_token));
    for (const each of held.filter(({ grant }) => !known.has(grant.owner_token))) await forget(model, f, each);
    return undefined;
  });

/** L2: the ledger does not know the grant, so that its worker changes not one byte; its sandbox lives on a while. */
async function forget(model: Model, f: LedgerFixture, held: ModelGrant): Promise<void> {
  const { grant } = held;
  seen("forgotten grant");
  model.world.strays.push({ ...grant, ...sandboxOf(held) });
  const before = await f.digest();
  expect(await f.ledger.tasks.activate(grant, grant.sandbox_id)).toEqual({ kind: "fenced" });
  expect(await f.ledger.tasks.settle(grant, outcomeOf(grant))).toEqual({ kind: "fenced" });
  expect(await f.ledger.tasks.requeue(grant, "drain", true)).toEqual({ kind: "fenced" });
  expect(await f.digest()).toBe(before);
}

async function restore(f: LedgerFixture, kept: Mark): Promise<void> {
  const keys = await f.redis.keys(`${f.root}:*`);
  if (keys.length > 0) await f.redis.del(...keys);
  for (const { key, value, life_ms } of kept.dumps) await f.redis.restore(key, Math.max(0, life_ms), value);
  const earlier = "0".repeat(40);
  await f.redis.hset(`${f.root}:fleet`, "run_id", earlier);
  for (const { key } of kept.dumps) {
    const looked = key.startsWith(`${f.root}:boot:`) && (await f.redis.type(key)) === "hash";
    if (looked && (await f.redis.hexists(key, "looked_in_run"))) await f.redis.hset(key, "looked_in_run", earlier);
  }
  await f.ledger.fleet(null);
}

/** The sandboxes that nobody knows have ended by themselves: their permission to live ran out. */
export const straysEnd = (): Move =>
  move("strays end", async (model) => {
    model.world.strays = [];
    return undefined;
  });
