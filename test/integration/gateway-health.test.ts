import { randomBytes } from "node:crypto";
import { createMetrics, silentLogger } from "@holdfast/chassis";
import { type Gateway, readGatewayConfig, startGateway } from "@holdfast/gateway";
import { Queue } from "bullmq";
import { afterEach, describe, expect, it } from "vitest";
import { type PrivateRedis, startPrivateRedis } from "../support/private-redis.js";
import { waitFor } from "../support/wait-for.js";

const undo: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function setup(): Promise<{ redis: PrivateRedis; gateway: Gateway; url: string }> {
  const redis = await startPrivateRedis();
  undo.push(redis.stop);
  const config = readGatewayConfig({
    REDIS_URL: redis.url,
    HOLDFAST_PREFIX: `t_${randomBytes(6).toString("hex")}`,
    HOLDFAST_GATEWAY_PORT: "0",
  });
  const gateway = await startGateway(config, { logger: silentLogger(), metrics: createMetrics() });
  undo.push(gateway.stop);
  return { redis, gateway, url: `http://127.0.0.1:${gateway.port}` };
}

async function gauge(url: string, name: string): Promise<number | null> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const value = text.split("\n").find((line) => line.startsWith(`${name} `));
  return value === undefined ? null : Number(value.slice(name.length + 1));
}

describe("a gateway", () => {
  it("is live, and ready only while Redis answers within a second", async () => {
    const { redis, url } = await setup();
    const status = async (path: string) => (await fetch(`${url}${path}`)).status;

    expect([await status("/livez"), await status("/readyz")]).toEqual([200, 200]);
    redis.freeze();
    expect([await status("/livez"), await status("/readyz")]).toEqual([200, 503]);
    redis.thaw();
    await waitFor(async () => (await status("/readyz")) === 200, { bound_ms: 10_000, what: "it is ready again" });
    await redis.kill();
    expect(await status("/readyz")).toBe(503);
    await redis.restart();

    await waitFor(async () => (await status("/readyz")) === 200, { bound_ms: 15_000, what: "it is ready again" });
  });

  it("counts the queue at each scrape, and says so while the ledger does not answer", async () => {
    const { redis, url } = await setup();
    const queue = new Queue("tasks", { connection: { url: redis.url } });
    undo.push(() => queue.close());
    await queue.add("one", { image: "x" });
    await queue.add("two", { image: "x" }, { delay: 60_000 });

    expect(await gauge(url, "holdfast_ledger_up")).toBe(1);
    expect(await gauge(url, 'holdfast_queue_jobs{state="waiting"}')).toBe(1);
    expect(await gauge(url, 'holdfast_queue_jobs{state="parked"}')).toBe(1);
    expect(await gauge(url, 'holdfast_hosts{engine="healthy"}')).toBe(0);
    redis.freeze();
    expect(await gauge(url, "holdfast_ledger_up")).toBe(0);
    redis.thaw();
  });

  it("stops while a browser keeps a connection open", async () => {
    const { gateway, url } = await setup();
    await fetch(`${url}/livez`, { headers: { connection: "keep-alive" } });
    const before = performance.now();

    await gateway.stop();

    expect(performance.now() - before).toBeLessThan(5_000);
    await expect(fetch(`${url}/livez`)).rejects.toThrow();
  });

  it("serves the board of the shared queue through a real socket of this machine", async () => {
    const { url } = await setup();

    const page = await fetch(`${url}/queues/`);
    const jobs = await fetch(`${url}/queues/api/queues?activeQueue=tasks&status=latest`);

    expect([page.status, jobs.status]).toEqual([200, 200]);
    expect(page.headers.get("content-security-policy")).toContain("script-src 'self';");
    expect(await jobs.json()).toMatchObject({ queues: [{ name: "tasks", readOnlyMode: true, jobs: [] }] });
  });
});
