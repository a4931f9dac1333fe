/** What a worker tells a ledger that it finds empty: one that is born grants at once, another one lost its records. */
import { drawFleetId } from "@holdfast/contract";
import { Redis } from "ioredis";
import { afterEach, expect, it } from "vitest";
import { startFleet, type TestFleet } from "../support/fleet.js";

const fleets: TestFleet[] = [];
afterEach(async () => {
  for (const fleet of fleets.splice(0)) await fleet.stopAndExpectNothingLeft();
});

async function tailLost(fleet: TestFleet): Promise<string | null> {
  const redis = new Redis(fleet.env["REDIS_URL"] ?? "");
  const told = await redis.hget(`{${fleet.env["HOLDFAST_PREFIX"]}}:fleet`, "tail_lost");
  redis.disconnect();
  return told;
}

it("a named fleet is born on a host that bears none; the same host on an empty ledger later waits a lease (L1, L4)", async () => {
  const env = { HOLDFAST_FLEET: drawFleetId() };

  const first = await startFleet({ env });
  fleets.push(first);
  const second = await startFleet({ env });
  fleets.push(second);

  expect(second.env["HOLDFAST_PREFIX"]).not.toBe(first.env["HOLDFAST_PREFIX"]);
  expect(await tailLost(first)).toBe("0");
  expect(await tailLost(second)).toBe("1");
});
