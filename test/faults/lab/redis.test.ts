import { afterEach, describe, expect, it } from "vitest";
import { waitFor } from "../../support/wait-for.js";
import { endAllProcesses } from "./processes.js";
import { type LabRedis, type LabRedisOptions, startLabRedis } from "./redis.js";

const open: LabRedis[] = [];
afterEach(async () => {
  for (const redis of open.splice(0)) await redis.close();
  await endAllProcesses();
});

async function setup(options: LabRedisOptions = {}): Promise<LabRedis> {
  const redis = await startLabRedis(options);
  open.push(redis);
  return redis;
}

async function timeOf(redis: LabRedis): Promise<number> {
  const reply = await redis.say("EVAL", "return redis.call('TIME')[1]", "0");
  return Number(reply.split("\r\n")[1]);
}

describe("the lab's Redis", () => {
  it("keeps what it confirmed over kill -9, on the same port, under a new run id", async () => {
    const redis = await setup();
    await redis.say("SET", "a", "1");
    const before = /run_id:(\w+)/.exec(await redis.say("INFO", "server"))?.[1];

    await redis.kill();
    const took = await redis.restart();

    expect(await redis.say("GET", "a")).toBe("$1\r\n1");
    expect(/run_id:(\w+)/.exec(await redis.say("INFO", "server"))?.[1]).not.toBe(before);
    expect(took).toBeLessThan(5_000);
  });

  it("comes back empty", async () => {
    const redis = await setup();
    await redis.say("SET", "a", "1");

    await redis.restartEmpty();

    expect(await redis.say("DBSIZE")).toBe(":0");
  });

  it("comes back without its tail, also where a command is cut in two", async () => {
    const redis = await setup({ appendfsync: "always" });
    await redis.say("SET", "a", "1");
    const place = redis.aofBytes();
    await redis.say("SET", "b", "1");
    expect(redis.commandBoundaries()).toContain(place);

    const fork = await redis.forkCutAt(place + 7);
    open.push(fork);
    expect(await fork.say("EXISTS", "a", "b")).toBe(":1");
    expect(await redis.say("EXISTS", "a", "b")).toBe(":2");
    await redis.restartCutAt(place);

    expect(await redis.say("EXISTS", "a", "b")).toBe(":1");
  });

  it("has a clock that steps forward and back, and expires keys by it", async () => {
    const redis = await setup({ clock: true });
    const before = await timeOf(redis);
    await redis.say("SET", "a", "1", "EX", "300");

    redis.setClock(-600);
    await waitFor(async () => (await timeOf(redis)) < before - 500, { bound_ms: 3_000, what: "the clock steps back" });
    redis.setClock(600);
    await waitFor(async () => (await timeOf(redis)) > before + 500, { bound_ms: 3_000, what: "the clock steps on" });

    expect(await redis.say("EXISTS", "a")).toBe(":0");
  });

  it("refuses writes when it is full, and answers nothing while it is frozen", async () => {
    const redis = await setup({ maxmemory: "2mb" });

    const value = "x".repeat(200_000);
    const replies = [];
    for (let n = 0; n < 20; n += 1) replies.push(await redis.say("SET", `k${n}`, value));
    await redis.freeze();
    const late = redis.say("PING");
    redis.thaw();

    expect(replies.at(-1)).toMatch(/^-OOM/);
    expect(await late).toBe("+PONG");
  });
});
