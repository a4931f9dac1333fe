/** A pool on the real engine: claims that race its refill, its drain and the death of its members (AT-C10). */

import type { SandboxId } from "@holdfast/contract";
import {
  createPool,
  type Pool,
  type PoolEvent,
  type PoolKey,
  roomFor,
  type Sandbox,
  sumOfRooms,
} from "@holdfast/engine";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { engineAsk } from "../support/engine-call.js";
import { containerOf, openTestEngine, runIn, SMALL, type TestEngine, worldSocket } from "../support/engine-fixture.js";
import { waitFor } from "../support/wait-for.js";

const ROUNDS = process.env["HOLDFAST_LONG"] === "1" ? 20 : 3;
const rounds = Array.from({ length: ROUNDS }, (_, n) => n + 1);
const MEMBERS = 2;

let host: TestEngine;
let pool: Pool;
let key: PoolKey;
let events: PoolEvent[];
let claimed: SandboxId[];
const stop = new AbortController();

beforeEach(async () => {
  host = await openTestEngine();
  const [offer] = host.engine.images;
  if (offer === undefined) throw new Error("no image is offered");
  key = { image: offer.image, image_digest: offer.digest, resources: SMALL, runtime: "runc" };
  [events, claimed] = [[], []];
  pool = createPool({
    create: host.engine.create,
    lifetime_seconds: 3_600,
    permission: () => 60_000,
    mayFill: () => true,
    stop: stop.signal,
    onEvent: (event) => events.push(event),
  });
  pool.steer([{ key, count: MEMBERS }], sumOfRooms(Array.from({ length: MEMBERS }, () => roomFor(SMALL))));
});

afterEach(async () => {
  await pool.drain();
  expect(new Set(claimed).size, "each was handed out once").toBe(claimed.length);
  await host.close();
});

const filled = (): Promise<true> =>
  waitFor(() => pool.counts()[0]?.ready === MEMBERS, { bound_ms: 30_000, what: "the pool is full" });

/** What was handed out runs a command in a sandbox that no other command has been in, and is then gone. */
async function serve(): Promise<Sandbox | null> {
  const onServing = (id: SandboxId): void => void claimed.push(id);
  const sandbox = await pool.claim({ key, permission: () => 60_000, onServing });
  if (sandbox === null) return null;
  await sandbox.assign({ lifetime_ms: 60_000 });
  const { exit, stdout } = await runIn(sandbox, ["sh", "-c", "ls -A; touch used; echo done"]);
  expect([exit.exit_code, stdout]).toEqual([0, "done\n"]);
  expect(await sandbox.destroy()).toMatchObject({ proven: true });
  return sandbox;
}

describe("a claim on the real engine", () => {
  it.each(rounds)("races refill: more claims than members, none served twice (round %i)", async () => {
    await filled();
    const first = await Promise.all([serve(), serve(), serve()]);
    expect(first.filter((sandbox) => sandbox !== null)).toHaveLength(MEMBERS);
    await waitFor(async () => (await serve()) !== null, { bound_ms: 30_000, what: "a refilled one serves" });
  });

  it.each(rounds)("races drain: it is served whole or not at all, and nothing is left (round %i)", async () => {
    await filled();
    const before = serve();
    const drained = pool.drain();
    expect(await serve()).toBeNull();
    await before;
    await drained;
    expect(pool.room()).toEqual({ memory_mb: 0, pids: 0 });
  });

  it.each(rounds)("races the death of a member: the dead one is not handed out (round %i)", async () => {
    await filled();
    const ids = (await host.engine.list()).map(({ sandbox_id }) => sandbox_id);
    const victim = ids[0] ?? "";
    const { Id } = await containerOf(victim);
    await engineAsk(worldSocket(), "POST", `/containers/${Id}/kill`);
    const served = await serve();

    expect(served?.sandbox_id).toBe(ids.find((id) => id !== victim));
    const noticed = () => events.some((event) => event.kind === "removed" && event.sandbox_id === victim);
    await waitFor(noticed, { bound_ms: 20_000, what: "the dead one is noticed" });
    await filled();
  });
});
