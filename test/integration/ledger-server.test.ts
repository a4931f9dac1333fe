/** The server under the ledger: what is refused, what fails fast, what older writers and full memory get. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { LOST_TAIL_MS, openLedger } from "@holdfast/ledger";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { keysOf } from "../../packages/ledger/src/keys.js";
import { compose, SCHEMA } from "../../packages/ledger/src/script-loader.js";
import { type PrivateRedis, startPrivateRedis } from "../support/private-redis.js";
import { LEASE_MS, type LedgerFixture, openFixture, outcomeOf, request } from "./ledger-fixture.js";

const FAIL_FAST_MS = 700;
let server: PrivateRedis;
let f: LedgerFixture;

beforeAll(async () => {
  // With everysec a kill loses what was acknowledged while an fsync was under way.
  server = await startPrivateRedis({ settings: { appendfsync: "always" } });
  f = await openFixture({ url: server.url });
});
afterEach(async () => {
  await f.expectCounted();
});
afterAll(async () => {
  await f.close();
  await server.stop();
});

describe("start-up", () => {
  it("finds nothing wrong with a server that keeps what it is given", async () => {
    expect(await f.ledger.serverProblems()).toEqual([]);
  });

  it("tells whether a crash may lose what was acknowledged (T1, T2)", async () => {
    const loose = await startPrivateRedis({ settings: { appendfsync: "everysec" } });
    const ledger = await openLedger({ url: loose.url, role: "test", prefix: "t", fail_fast_ms: FAIL_FAST_MS });

    expect([await f.ledger.tailKept(), await ledger.tailKept()]).toEqual(["kept", "may_be_lost"]);

    await ledger.close();
    await loose.stop();
  });

  it("names each problem with the setting that would accept it", async () => {
    const loose = await startPrivateRedis({ settings: { appendonly: "no", "maxmemory-policy": "allkeys-lru" } });
    const ledger = await openLedger({ url: loose.url, role: "test", prefix: "t", fail_fast_ms: FAIL_FAST_MS });

    const problems = await ledger.serverProblems();

    expect(problems).toMatchObject([
      { problem: "policy", setting: "HOLDFAST_ALLOW_EVICTION", message: expect.stringContaining("allkeys-lru") },
      { problem: "aof", setting: "HOLDFAST_ALLOW_NO_AOF", message: expect.stringContaining("appendonly") },
    ]);
    await ledger.close();
    await loose.stop();
  });

  it("of a producer fails within its bound where nothing listens", async () => {
    const begun = performance.now();
    const url = "redis://127.0.0.1:1";

    await expect(openLedger({ url, role: "test", fail_fast_ms: FAIL_FAST_MS })).rejects.toMatchObject({
      code: "LEDGER_UNAVAILABLE",
      retryable: true,
    });

    expect(performance.now() - begun).toBeLessThan(FAIL_FAST_MS + 500);
  });
});

describe("a server that does not answer", () => {
  it("makes a producer's calls fail within their bound, and those of a worker wait and be applied", async () => {
    const producer = f.another({ fail_fast_ms: FAIL_FAST_MS });
    const origin = { queue: "tasks", job_id: null };
    const waits = request();
    expect(await producer.tasks.accept(request(), origin)).toMatchObject({ kind: "accepted" });

    server.freeze();
    const begun = performance.now();
    const refused = await producer.tasks.accept(request(), origin).catch((error: unknown) => error);
    const spent = performance.now() - begun;
    const pinged = await f.ledger.ping(200);
    const patient = f.ledger.tasks.accept(waits, origin);
    server.thaw();

    expect(refused).toMatchObject({ code: "LEDGER_UNAVAILABLE", fault: "platform", retryable: true });
    expect(spent).toBeLessThan(FAIL_FAST_MS + 500);
    expect(pinged).toBe(false);
    expect(await patient).toMatchObject({ kind: "accepted" });
    expect(await f.ledger.ping(1_000)).toBe(true);
    expect(await producer.tasks.accept(waits, origin)).toMatchObject({ kind: "existing" });
  });

  it("and comes back after a kill with appendfsync always: what was accepted is there, and calls made meanwhile are applied once (T2)", async () => {
    const origin = { queue: "tasks", job_id: null };
    const [before, during] = [request(), request()];
    await f.ledger.tasks.accept(before, origin);

    await server.kill();
    const patient = f.ledger.tasks.accept(during, origin);
    await server.restart();

    expect(["accepted", "existing"]).toContain((await patient).kind);
    expect(await f.ledger.tasks.accept(before, origin)).toMatchObject({ kind: "existing" });
    expect(await f.ledger.tasks.accept(during, origin)).toMatchObject({ kind: "existing" });
  });
});

const CLOSER = `
const { openLedger } = await import(process.argv[1]);
const ledger = openLedger({ url: process.argv[2], role: "closer" });
const { boots, close, ping } = await ledger;
await boots.onBell("boot_any", () => undefined);
process.stdout.write(String(await ping(5_000)));
process.stdin.once("data", () => {
  close();
  process.stdin.destroy();
});
`;

describe("a ledger that is closed", () => {
  it.each(["answers", "is away"])("keeps no process alive while its server %s", async (state) => {
    const own = await startPrivateRedis();
    const dist = new URL("../../packages/ledger/dist/index.js", import.meta.url).href;
    const child = spawn(process.execPath, ["--input-type=module", "-e", CLOSER, dist, own.url], { stdio: "pipe" });
    await once(child.stdout, "data");
    if (state === "is away") {
      await own.kill();
      await once(child.stdout, "close", { signal: AbortSignal.timeout(300) }).catch(() => undefined);
    }

    const begun = performance.now();
    child.stdin.write("close");
    const [code] = await once(child, "exit");

    expect(code).toBe(0);
    expect(performance.now() - begun).toBeLessThan(1_000);
    await own.stop();
  });
});

describe("scripts", () => {
  it("are sent again to a server that forgot them", async () => {
    await f.redis.script("FLUSH");

    expect(await f.ledger.tasks.accept(request(), { queue: "tasks", job_id: null })).toMatchObject({
      kind: "accepted",
    });
  });

  it("of another version are refused by the schema number, and change nothing", async () => {
    await f.redis.hset(`${f.root}:fleet`, "schema", `${SCHEMA + 1}`);
    const before = await f.digest();

    const refusal = {
      code: "SCHEMA_MISMATCH",
      retryable: false,
      message: "This program is older than the fleet's ledger.",
    };
    await expect(f.ledger.tasks.accept(request(), { queue: "tasks", job_id: null })).rejects.toMatchObject(refusal);
    await expect(f.ledger.tasks.headsWithRoom()).rejects.toMatchObject(refusal);
    await expect(f.ledger.fleet(null)).rejects.toMatchObject(refusal);

    expect(await f.digest()).toBe(before);
    await f.redis.hset(`${f.root}:fleet`, "schema", "1");
    const message = `The fleet's ledger is of an earlier version: schema 1, this program has ${SCHEMA}. Its data must be emptied.`;
    await expect(f.ledger.fleet(null)).rejects.toMatchObject({ ...refusal, message });
    await f.redis.hset(`${f.root}:fleet`, "schema", `${SCHEMA}`);
  });

  it("that accept are refused when memory is full; those that settle and free are not", async () => {
    const full = await openFixture({ url: server.url });
    const { ledger } = full;
    const worker = await full.register();
    await full.setClock(Date.now());
    const doomed = await full.register();
    const [grant, ran, runs] = [await full.running(worker), await full.running(doomed), await full.running(doomed)];
    const fill = () => full.redis.config("SET", "maxmemory", "1mb");
    const later = async (ms: number) => {
      await full.redis.config("SET", "maxmemory", "0");
      await full.advance(ms);
      await fill();
    };
    await fill();
    try {
      const origin = { queue: "tasks", job_id: null };
      await expect(ledger.tasks.accept(request(), origin)).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
      const log = { kind: "task_progress", progress: {} } as const;
      await expect(ledger.tasks.append(grant, 2, [log])).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
      const beat = { ...worker, counter: 1, held: [grant.owner_token], fence_seen: null, engine_healthy: true };
      expect(await ledger.boots.beat(beat)).toMatchObject({ kind: "ok" });
      expect(await ledger.tasks.settle(grant, outcomeOf(grant))).toMatchObject({ kind: "settled" });
      expect(await ledger.tasks.release(grant)).toMatchObject({ kind: "released" });
      expect(await ledger.tasks.view(grant)).toMatchObject({ status: "SUCCEEDED" });
      expect(await ledger.boots.retire(worker.boot_id)).toEqual({ kind: "retired" });
      await later(LEASE_MS);
      expect(await ledger.boots.bury(doomed.boot_id, -1)).toMatchObject({ kind: "buried" });
      expect(await ledger.tasks.cancel(ran)).toMatchObject({ kind: "cancelled" });
      await later(LOST_TAIL_MS);
      expect(await ledger.boots.recover(doomed.boot_id, 10)).toMatchObject({
        ...{ requeued: [{ task_id: runs.task_id, delivery: 2 }], settled: [], left: 0 },
      });
      expect(await ledger.boots.free(doomed.boot_id, { kind: "bound" })).toMatchObject({ left: 0 });
      expect(await ledger.boots.reroute(doomed.boot_id, 10)).toEqual([]);
      await full.register({ limits: null, host_id: doomed.host_id });
    } finally {
      await full.redis.config("SET", "maxmemory", "0");
      await full.close();
    }
  });

  it("name each key exactly as the program does", async () => {
    const keys = keysOf(f.ledger.prefix);
    const names = Object.keys(keys) as (keyof typeof keys)[];
    const lines = names.map((name) => {
      const of = keys[name];
      return `key.${name}${typeof of === "string" ? "" : `(${["ARGV[1]", "ARGV[2]"].slice(0, of.length).join(", ")})`}`;
    });
    const text = compose(`#!lua\n--- @include "keys"\nreturn { ${lines.join(",\n")} }`, { lease_ms: 1 });
    const file = readFileSync(new URL("../../packages/ledger/scripts/include/keys.lua", import.meta.url), "utf8");

    const reply = await f.redis.eval(text, 1, f.root, "host", "b_1-x");

    const expected = names.map((name) => {
      const of = keys[name] as string | ((first: string, second?: string) => string);
      return typeof of === "string" ? of : of("host", ...(of.length === 2 ? ["b_1-x"] : []));
    });
    expect(reply).toEqual(expected);
    expect(file.match(/^--- @key /gm)).toHaveLength(names.length);
  });

  it("refuse a hostile id in a key by themselves (W1)", async () => {
    const text = compose('#!lua\n--- @include "keys"\nreturn key.task(ARGV[1], ARGV[2])', { lease_ms: 1 });

    for (const id of ["a:b", "a.b", "", "-a", "a b", "x".repeat(65), "a\n"]) {
      await expect(f.redis.eval(text, 1, f.root, "w", id)).rejects.toThrow(/BADID/);
    }
  });

  it("are one atomic step a file, say what they keep, and stay small", () => {
    const folder = new URL("../../packages/ledger/scripts/", import.meta.url);
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".lua"));
    expect(files.length).toBeGreaterThan(25);
    for (const file of files) {
      const lines = readFileSync(new URL(file, folder), "utf8").split("\n");
      expect(lines.length, file).toBeLessThanOrEqual(150);
      expect(Math.max(...lines.map((line) => line.length)), file).toBeLessThanOrEqual(120);
      if (file.startsWith("include/")) continue;
      expect(lines[0], file).toMatch(/^#!lua( flags=(allow-oom|no-writes))?$/);
      expect(lines[1], file).toMatch(new RegExp(`^-- ${file.slice(0, -4)}: `));
      expect(lines.join("\n"), file).toMatch(/^-- Replies: /m);
      expect(lines.join("\n"), file).toMatch(/^-- Keeps: [A-Z][0-9]/m);
    }
  });
});
