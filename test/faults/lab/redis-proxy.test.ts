import { Redis } from "ioredis";
import { afterEach, describe, expect, it } from "vitest";
import { worldRedisPort } from "./given-world.js";
import {
  cutReply,
  delayReply,
  dropReply,
  dropRequest,
  type FaultProxy,
  fail,
  holdReply,
  holdRequest,
  startRedisProxy,
} from "./proxy.js";
import { sha1 } from "./resp-protocol.js";

const COUNT_UP = "return redis.call('INCR', KEYS[1])";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function client(port: number): Redis {
  const redis = new Redis({
    port,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
  });
  redis.on("error", () => undefined);
  closers.push(() => redis.disconnect());
  return redis;
}

async function setup(): Promise<{ proxy: FaultProxy; through: Redis; direct: Redis; key: string }> {
  const names = (sha: string) => (sha === sha1(COUNT_UP) ? "count-up" : null);
  const proxy = await startRedisProxy({ port: worldRedisPort(), names });
  closers.push(() => proxy.close());
  return { proxy, through: client(proxy.port), direct: client(worldRedisPort()), key: `lab_${Math.random()}` };
}

describe("the proxy before Redis", () => {
  it("passes pipelines, blocking reads, large values and what is published", async () => {
    const { through, direct, key } = await setup();
    const large = "x".repeat(3_000_000);

    const pipeline = through.pipeline();
    for (let n = 0; n < 500; n += 1) pipeline.incr(key);
    const replies = await pipeline.exec();
    await through.set(`${key}l`, large);
    const subscriber = client(through.options.port ?? 0);
    const heard = new Promise((resolve) => subscriber.on("message", (_, text) => resolve(text)));
    await subscriber.subscribe(key, `${key}b`);
    await direct.publish(key, "hello");
    const popped = through.blpop(`${key}q`, 5);
    await direct.lpush(`${key}q`, "item");

    expect(replies?.at(-1)).toEqual([null, 500]);
    expect(await through.get(`${key}l`)).toBe(large);
    expect(await heard).toBe("hello");
    expect(await popped).toEqual([`${key}q`, "item"]);
    await subscriber.unsubscribe();
    expect(await subscriber.ping()).toBe("PONG");
    await direct.del(`${key}l`);
  });

  it("holds a script's request: not applied before the release, applied after it", async () => {
    const { proxy, through, direct, key } = await setup();
    const rule = proxy.on({ script: "count-up", nth: 2 }, holdRequest());

    await through.eval(COUNT_UP, 1, key);
    const second = through.eval(COUNT_UP, 1, key);
    const held = await rule.reached(2_000);
    expect(await direct.get(key)).toBe("1");
    rule.release();

    expect(await second).toBe(2);
    expect(held).toMatchObject({ name: "EVAL", detail: "count-up" });
    expect(proxy.count("count-up")).toBe(2);
  });

  it("drops a held request when its client dies, or delivers it late if told so", async () => {
    const { proxy, through, direct, key } = await setup();
    const dropped = proxy.on({ command: "INCR" }, holdRequest());
    const first = through.incr(key).catch(() => "lost");
    await dropped.reached(2_000);
    through.disconnect();
    expect(await first).toBe("lost");
    dropped.release();
    const late = proxy.on({ command: "INCRBY" }, holdRequest("deliver"));
    const other = client(proxy.port);
    const second = other.incrby(key, 10).catch(() => "lost");
    await late.reached(2_000);
    other.stream.destroy();
    expect(await second).toBe("lost");
    expect(await direct.get(key)).toBeNull();
    late.release();

    await expect.poll(() => direct.get(key)).toBe("10");
  });

  it("holds a reply of what was applied, and lets it go", async () => {
    const { proxy, through, direct, key } = await setup();
    const rule = proxy.on({ command: "INCR" }, holdReply());
    let answered = false;

    const reply = through.incr(key).finally(() => {
      answered = true;
    });
    const behind = through.get(key);
    await rule.reached(2_000);
    expect(await direct.get(key)).toBe("1");
    expect(answered).toBe(false);
    rule.release();

    expect(await reply).toBe(1);
    expect(await behind).toBe("1");
  });

  it("applies and drops the reply, cuts it, or drops the request", async () => {
    const { proxy, direct, key } = await setup();
    proxy.on({ command: "INCR" }, dropReply());
    proxy.on({ command: "INCRBY" }, cutReply(1));
    proxy.on({ command: "DECR" }, dropRequest());
    const loses = (call: (redis: Redis) => Promise<unknown>) => call(client(proxy.port)).catch(() => "lost");

    expect(await loses((redis) => redis.incr(key))).toBe("lost");
    expect(await loses((redis) => redis.incrby(key, 10))).toBe("lost");
    expect(await loses((redis) => redis.decr(key))).toBe("lost");

    expect(await direct.get(key)).toBe("11");
  });

  it("keeps a connection open and silent after a dropped reply", async () => {
    const { proxy, through, direct, key } = await setup();
    const rule = proxy.on({ command: "INCR" }, dropReply("keep"));
    let ended = false;
    through.on("end", () => {
      ended = true;
    });

    through.incr(key).catch(() => undefined);
    await rule.reached(2_000);
    through.incr(key).catch(() => undefined);
    await expect.poll(() => direct.get(key)).toBe("2");

    expect(ended).toBe(false);
  });

  it("answers with a failure in the right place of a pipeline", async () => {
    const { proxy, through, key } = await setup();
    proxy.on({ command: "INCR", nth: 2 }, fail("LOADING not yet"));

    const replies = await through.pipeline().incr(key).incr(key).incr(key).exec();

    expect(replies?.map(([error, value]) => error?.message ?? value)).toEqual([1, "LOADING not yet", 2]);
  });

  it("delays the line and a single reply", async () => {
    const { proxy, through, key } = await setup();
    proxy.on({ command: "INCR" }, delayReply(120));
    const took = async (call: () => Promise<unknown>) => {
      const start = performance.now();
      await call();
      return performance.now() - start;
    };

    expect(await took(() => through.incr(key))).toBeGreaterThanOrEqual(115);
    await proxy.set({ kind: "delay", ms: 50 });
    expect(await took(() => through.incr(key))).toBeGreaterThanOrEqual(95);
    await proxy.set({ kind: "slow", bytes_per_second: 100 });
    expect(await took(() => through.ping())).toBeGreaterThanOrEqual(150);
  });

  it("cuts the line, and opens it again on its port", async () => {
    const { proxy, through, key } = await setup();
    await through.incr(key);
    const { port } = proxy;

    await proxy.set({ kind: "cut" });
    await expect(through.incr(key)).rejects.toThrow();
    await expect(client(port).ping()).rejects.toThrow();
    await proxy.set({ kind: "pass" });

    expect(await client(port).incr(key)).toBe(2);
  });

  it("swallows in half-open mode and ends what was swallowed on when the line is good again", async () => {
    const { proxy, through, direct, key } = await setup();
    await through.ping();
    await proxy.set({ kind: "half_open" });
    const lost = through.incr(key).catch(() => "lost");
    const fresh = client(proxy.port);
    const alsoLost = fresh.incr(key).catch(() => "lost");
    await expect.poll(() => proxy.count("INCR")).toBeGreaterThanOrEqual(1);
    await proxy.set({ kind: "pass" });

    expect(await lost).toBe("lost");
    expect(await alsoLost).toBe("lost");
    expect(await direct.get(key)).toBeNull();
  });

  it("applies and answers nothing in mute mode; keeps everything for later in stall mode", async () => {
    const { proxy, through, direct, key } = await setup();
    await through.ping();
    await proxy.set({ kind: "stall" });
    const late = through.incr(key);
    await expect.poll(() => proxy.count("INCR")).toBe(1);
    expect(await direct.get(key)).toBeNull();
    await proxy.set({ kind: "pass" });
    expect(await late).toBe(1);

    await proxy.set({ kind: "mute" });
    const unheard = through.incr(key).catch(() => "lost");
    await expect
      .poll(() => proxy.log.filter((entry) => entry.phase === "reply" && entry.name === "INCR").length)
      .toBe(2);
    await proxy.set({ kind: "pass" });
    expect(await unheard).toBe("lost");
    expect(await direct.get(key)).toBe("2");
  });

  it("logs every exchange with monotonic time and shows observers what was said", async () => {
    const { proxy, through, key } = await setup();
    const seen: string[] = [];
    proxy.observe(({ phase, exchange, bytes }) => {
      if (exchange?.name === "INCR" && phase === "reply") seen.push(`${exchange.args[0]} ${bytes}`);
    });

    await through.incr(key);

    const phases = proxy.log.filter((entry) => entry.name === "INCR");
    expect(phases.map((entry) => entry.phase)).toEqual(["request", "forwarded", "reply"]);
    expect(phases.every((entry, n) => n === 0 || entry.at_ms >= (phases[n - 1]?.at_ms ?? 0))).toBe(true);
    expect(seen).toEqual([`${key} :1\r\n`]);
  });
});
