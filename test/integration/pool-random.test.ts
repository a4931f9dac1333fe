/**
 * A pool among claims that race refill, drain, engine restart and the deaths of members, over an engine in memory that
 * lags and fails. HOLDFAST_LONG=1 goes through 10,000 moments; HOLDFAST_POOL_SEED repeats one world.
 */
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createChance } from "../support/chance.js";
import { createPoolWorld } from "../support/pool-world.js";

const MOMENTS_A_WORLD = 25;
const MOMENTS = process.env["HOLDFAST_LONG"] === "1" ? 10_000 : 1_000;
const SEED_USUAL = 40_261;
const SEED = process.env["HOLDFAST_POOL_SEED"];
const WORLDS = SEED === undefined ? MOMENTS / MOMENTS_A_WORLD : 1;
const STEPS_MS = [0, 1, 50, 200, 200, 500, 2_000, 70_000] as const;

const sum = { claims: 0, hits: 0, deaths: 0, restarts: 0, drains: 0, swept: 0 };

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] }));
afterEach(() => void vi.useRealTimers());
afterAll(() => console.info(`pool: ${JSON.stringify(sum)}`));

async function live(seed: number): Promise<void> {
  const chance = createChance(seed);
  const world = createPoolWorld(chance);
  for (let moment = 0; moment < MOMENTS_A_WORLD; moment += 1) {
    world.stir();
    await vi.advanceTimersByTimeAsync(chance.pick(STEPS_MS));
    expect(world.wrong, `moment ${moment}`).toEqual([]);
  }
  let rested = false;
  const rest = world.rest().then(() => {
    rested = true;
  });
  for (let turns = 0; !rested && turns < 5_000; turns += 1) await vi.advanceTimersByTimeAsync(500);
  expect(rested, "claims and drain come to their end").toBe(true);
  await rest;
  expect(world.wrong, "at rest").toEqual([]);
  expect(world.left(), "E1, Q1: no container is left").toEqual([]);
  expect(world.pool.room()).toEqual({ memory_mb: 0, pids: 0 });
  for (const [name, count] of Object.entries(world.counts)) sum[name as keyof typeof sum] += count;
}

describe("a pool whose members are claimed, die, are swept beside, and drained", () => {
  it("hands each out once and to its own kind, stays within its room, and leaves nothing (AT-C10, E1, E2)", {
    timeout: 600_000,
  }, async () => {
    for (let at = 0; at < WORLDS; at += 1) {
      const seed = Number(SEED ?? SEED_USUAL + at);
      vi.clearAllTimers();
      await live(seed).catch((error: unknown) => {
        throw new Error(`HOLDFAST_POOL_SEED=${seed}`, { cause: error });
      });
    }
    const missing = Object.entries(sum).filter(([name, count]) => count === 0 && name !== "swept");
    if (SEED === undefined) expect(missing).toEqual([]);
  });
});
