/** The board beside the shared queue: boots' queues come and go with their boots, and no job can take the page down. */
import { randomBytes } from "node:crypto";
import { createMetrics, silentLogger } from "@holdfast/chassis";
import { drawBootId, drawHostId } from "@holdfast/contract";
import { bootQueue, type Ledger, openLedger } from "@holdfast/ledger";
import { openTaskQueue, type TaskQueue } from "@holdfast/queue";
import { Queue } from "bullmq";
import type { FastifyInstance } from "fastify";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildServer } from "../../apps/gateway/src/server.js";
import { waitFor } from "../support/wait-for.js";

const REDIS_VARIABLE = "HOLDFAST_TEST_REDIS_URL";
const url = process.env[REDIS_VARIABLE] ?? "";
const CANARY = `canary-${randomBytes(6).toString("hex")}`;
const HOSTILE = `<img src=x onerror=alert(1)> ${CANARY}`;
const prefix = `t_${randomBytes(6).toString("hex")}`;
/** The look at the ledger is two seconds old at most. */
const SEEN = { bound_ms: 10_000, look_ms: 100 };

let ledger: Ledger;
let tasks: TaskQueue;
let redis: Redis;
let server: FastifyInstance;

interface ShownQueue {
  readonly name: string;
  readonly description: string;
  readonly readOnlyMode: boolean;
  readonly jobs: readonly { readonly id: string; readonly data: unknown; readonly failedReason?: string }[];
}

beforeAll(async () => {
  ledger = await openLedger({ url, prefix, role: "test" });
  await ledger.fleet(null);
  tasks = openTaskQueue({ ledger, prefix });
  redis = ledger.connection("test");
  const board = { hosts: ledger.hosts, queue: tasks };
  const deps = { logger: silentLogger(), metrics: createMetrics(), ready: async () => true };
  server = buildServer({ ...deps, board, operator_password: undefined });
});
afterAll(async () => {
  await server.close();
  const keys = await redis.keys(`*${prefix}*`);
  if (keys.length > 0) await redis.del(...keys);
  await tasks.close();
  await ledger.close();
});

async function boot() {
  const found = { boot_id: drawBootId(), host_id: drawHostId() };
  const limits = { slots: 1, cpu_milli: 1_000, memory_mb: 1_000, pids: 100 };
  const rest = { limits, default_limits: limits, images: [], runtimes: [], engine_version: "1", program_version: "1" };
  await ledger.boots.register({ ...found, ...rest });
  return found;
}

const ask = (path: string) => server.inject({ url: `/queues/api/queues${path}`, headers: { host: "127.0.0.1:7070" } });

async function shown(active = "tasks"): Promise<ShownQueue[]> {
  const reply = await ask(`?activeQueue=${active}&status=latest`);
  expect(reply.statusCode).toBe(200);
  return reply.json<{ queues: ShownQueue[] }>().queues;
}

async function untilShown(names: readonly string[]): Promise<void> {
  const same = async () => JSON.stringify((await shown()).map(({ name }) => name).toSorted()) === JSON.stringify(names);
  await waitFor(same, { ...SEEN, what: `the board shows ${names.join(", ")}` });
}

describe("the queues of boots", () => {
  it("come and go with their boots, while the gateway runs, redacted and read-only, not made by a look (Q1)", async () => {
    const [one, two] = [await boot(), await boot()];
    const name = bootQueue(one.boot_id);
    const queue = new Queue(name, { connection: redis, prefix, skipMetasUpdate: true });
    await untilShown([name, bootQueue(two.boot_id), "tasks"].toSorted());
    expect(await redis.keys(`${prefix}:boot.*`)).toEqual([]);
    await queue.add(HOSTILE, { image: "x:1", env: { A: HOSTILE }, [HOSTILE]: HOSTILE }, { jobId: "1-a" });

    const mine = (await shown(name)).find((each) => each.name === name);
    expect(mine).toMatchObject({
      ...{ readOnlyMode: true, description: expect.stringContaining(one.host_id) },
      jobs: [{ id: "1-a", name: "request", data: { kind: "request", env_variables: 1 } }],
    });
    const pages = [`?activeQueue=${name}&status=waiting`, `/${name}/1-a`, `/${name}/1-a/logs`, `/${name}/1-a/flow`];
    for (const page of pages) {
      const { body, statusCode } = await ask(page);
      expect([statusCode, body.includes(CANARY), body.includes("onerror")]).toEqual([200, false, false]);
    }
    const pause = { method: "PUT", url: `/queues/api/queues/${name}/pause`, headers: { host: "127.0.0.1" } } as const;
    expect([403, 405]).toContain((await server.inject(pause)).statusCode);
    expect(await queue.isPaused()).toBe(false);

    await ledger.boots.retire(one.boot_id);
    await untilShown([bootQueue(two.boot_id), "tasks"].toSorted());
    expect((await ask(`/${name}/1-a`)).statusCode).toBe(404);
    await queue.close();
  });
});

describe("a job that is not what BullMQ stores", () => {
  it.each([
    ["data", `{no json ${HOSTILE}`, true],
    ["data", "null", false],
    ["data", '"text"', false],
    ["opts", "{no json", true],
    ["opts", "null", true],
    ["progress", "{no json", true],
    ["returnvalue", `{no json ${HOSTILE}`, false],
    ["stacktrace", "{no json", false],
    ["timestamp", "yesterday", false],
    ["name", "", false],
  ])("is shown beside the others, and its own page too: %s is %j", async (field, text, unreadable) => {
    const queue = new Queue("tasks", { connection: redis, prefix });
    await queue.add("request", { image: "x:1" }, { jobId: "odd" });
    await queue.add("request", { image: "x:1" }, { jobId: "even" });
    await redis.hset(`${prefix}:tasks:odd`, field, text);
    try {
      const [{ jobs } = { jobs: [] }] = await shown();
      expect(jobs.map(({ id }) => id).toSorted()).toEqual(["even", "odd"]);
      const { statusCode, body } = await ask("/tasks/odd");
      expect([statusCode, body.includes(CANARY), body.includes("onerror")]).toEqual([200, false, false]);
      if (unreadable) expect(body).toContain('"kind":"not JSON"');
    } finally {
      await queue.remove("odd");
      await queue.remove("even");
      await queue.close();
    }
  });

  it("is still shown with the code of its error where it failed", async () => {
    const queue = new Queue("tasks", { connection: redis, prefix });
    await queue.add("request", { image: "x:1" }, { jobId: "odd" });
    const reason = "INVALID_REQUEST: no object";
    await redis.hset(`${prefix}:tasks:odd`, "data", "{no json", "failedReason", reason, "finishedOn", "1800000000000");

    const job = (await ask("/tasks/odd")).json<{ job: Record<string, unknown> }>().job;

    const failedReason = "INVALID_REQUEST (the text is not shown here)";
    expect(job).toMatchObject({ id: "odd", isFailed: true, failedReason, data: { kind: "not JSON" } });
    await queue.remove("odd");
    await queue.close();
  });
});
