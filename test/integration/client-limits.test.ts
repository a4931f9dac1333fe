/** Limits of many workspaces: each is shown, however many there are, and no step of the walk holds Redis long. */
import { drawHostId } from "@holdfast/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PrivateRedis, startPrivateRedis } from "../support/private-redis.js";
import { type ClientBench, openClientBench } from "./client-bench.js";

/** Several steps of the walk. */
const WORKSPACES = Array.from({ length: 450 }, (_, n) => `w${String(n).padStart(3, "0")}`);

let redis: PrivateRedis;
let bench: ClientBench;

beforeAll(async () => {
  redis = await startPrivateRedis();
  bench = await openClientBench(redis.url);
  for (const id of WORKSPACES) await bench.client.setLimits({ scope: "workspace", id }, { slots: 7 });
});
afterAll(async () => {
  await bench.close();
  await redis.stop();
});

describe("limits of many workspaces", () => {
  it("are all listed, each once and in order, after the fleet and its hosts (C1)", async () => {
    const views = await bench.client.limits();

    expect(views.slice(0, 2).map(({ scope }) => scope)).toEqual(["fleet", "host"]);
    expect(views.slice(2).map(({ id }) => id)).toEqual(WORKSPACES);
    expect(views.slice(2).every(({ limits }) => limits.slots === 7)).toBe(true);
  });

  it("are shown of one scope without the others, set or not (C1)", async () => {
    const { client } = bench;
    const none = {
      slots: null,
      cpu_milli: null,
      memory_mb: null,
      pids: null,
      queued: null,
      pending_bytes: 268_435_456,
    };

    expect(await client.limitsOf({ scope: "workspace", id: "w449" })).toMatchObject({
      scope: "workspace",
      id: "w449",
      limits: { ...none, slots: 7 },
    });
    expect(await client.limitsOf({ scope: "workspace", id: "other" })).toMatchObject({ id: "other", limits: none });
    expect(await client.limitsOf({ scope: "fleet" })).toMatchObject({ scope: "fleet", id: "all" });
    await expect(client.limitsOf({ scope: "host", id: drawHostId() })).rejects.toMatchObject({
      code: "HOST_NOT_FOUND",
    });
  });

  it("come in steps of the size asked for, and none of them where it is 0", async () => {
    const { hosts } = bench.ledger;
    const first = await hosts.limits(50);
    const rest = await hosts.limits(50, first.cursor);

    expect(first.scopes.map(({ scope }) => scope).slice(0, 3)).toEqual(["fleet", "host", "workspace"]);
    expect(first.scopes.length).toBeLessThan(WORKSPACES.length / 2);
    expect(rest.scopes.every(({ scope }) => scope === "workspace")).toBe(true);
    expect(await hosts.limits(0)).toMatchObject({ scopes: [{ scope: "fleet" }, { scope: "host" }], cursor: null });
  });
});
