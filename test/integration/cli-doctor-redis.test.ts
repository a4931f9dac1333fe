/** What `holdfast doctor` tells of a Redis: each problem provoked on a real server. */

import { readWorkerConfig } from "@holdfast/worker";
import { afterEach, expect, it } from "vitest";
import type { CommandContext } from "../../apps/cli/src/command-context.js";
import { readCliConfig } from "../../apps/cli/src/config.js";
import { redisChecks } from "../../apps/cli/src/doctor/redis-checks.js";
import { type PrivateRedis, startPrivateRedis } from "../support/private-redis.js";
import { scratchFolder } from "../support/scratch.js";

let redis: PrivateRedis | undefined;
afterEach(async () => {
  await redis?.stop();
  redis = undefined;
});

async function told(env: Record<string, string>): Promise<Record<string, string>> {
  const context = { config: readCliConfig(env), env } as Pick<CommandContext, "config" | "env"> as CommandContext;
  const checks = await redisChecks(context, {}, readWorkerConfig(env));
  expect(JSON.stringify(checks)).not.toContain("hunter2");
  for (const { state, remedy } of checks) expect(remedy !== null).toBe(state === "failed" || state === "warning");
  return Object.fromEntries(checks.map(({ name, state }) => [name, state]));
}

it("that may evict and keeps nothing fails by each name, and only warns where a setting accepts it", async () => {
  redis = await startPrivateRedis({ settings: { appendonly: "no", "maxmemory-policy": "allkeys-lru" } });
  const env = { REDIS_URL: redis.url };

  expect(await told(env)).toEqual({
    ...{ redis: "ok", redis_version: "ok", redis_policy: "failed", redis_aof: "failed", redis_tail: "warning" },
  });
  expect(await told({ ...env, HOLDFAST_ALLOW_NO_AOF: "true", HOLDFAST_ALLOW_EVICTION: "true" })).toMatchObject({
    redis_policy: "warning",
    redis_aof: "warning",
  });
});

it("that is as a fleet needs it passes; one that is gone, frozen, or asks for another password does not", async () => {
  redis = await startPrivateRedis({ settings: { appendfsync: "always" } });
  const env = { REDIS_URL: redis.url };
  const good = { redis: "ok", redis_version: "ok", redis_policy: "ok", redis_aof: "ok", redis_tail: "ok" };
  const away = { redis: "failed", redis_version: "skipped", redis_policy: "skipped", redis_aof: "skipped" };

  expect(await told(env)).toEqual(good);
  redis.freeze();
  expect(await told(env)).toEqual(away);
  redis.thaw();
  await redis.kill();
  expect(await told({ REDIS_URL: redis.url.replace("://", "://:hunter2@") })).toEqual(away);
});

it("that nobody named is the one that up would start, if its program is there", async () => {
  const HOLDFAST_DATA = scratchFolder("none");

  expect(await told({ HOLDFAST_DATA, PATH: process.env["PATH"] ?? "" })).toEqual({ redis: "ok" });
  expect(await told({ HOLDFAST_DATA, PATH: scratchFolder("empty") })).toEqual({ redis: "failed" });
});
