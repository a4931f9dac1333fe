import { randomBytes } from "node:crypto";
import { createMetrics, silentLogger } from "@holdfast/chassis";
import { type Ledger, openLedger } from "@holdfast/ledger";
import { openTaskQueue, type TaskQueue } from "@holdfast/queue";
import { Queue, Worker } from "bullmq";
import type { FastifyInstance } from "fastify";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildServer } from "../../apps/gateway/src/server.js";
import { waitFor } from "../support/wait-for.js";

const REDIS_VARIABLE = "HOLDFAST_TEST_REDIS_URL";
const REDIS_URL = process.env[REDIS_VARIABLE] ?? "";
const CANARY = `canary-${randomBytes(6).toString("hex")}`;
const MARKUP = `<img src=x onerror=alert(1)><script>alert("${CANARY}")</script>`;
const HOSTILE = `${MARKUP} ${CANARY}`;
const PASSWORD = "an operator's password";

const request = {
  workspace_id: "default",
  image: "holdfast/python:3.11-1",
  command: ["sh", "-c", HOSTILE],
  env: { TOKEN: CANARY, [CANARY]: MARKUP },
  files: [{ path: HOSTILE, content: HOSTILE }],
  stdin: HOSTILE,
  labels: { [CANARY]: HOSTILE },
  [HOSTILE]: HOSTILE,
};

const prefix = `t_${randomBytes(6).toString("hex")}`;
let connection: Redis;
let queue: Queue;
let ledger: Ledger;
let tasks: TaskQueue;
let open: FastifyInstance;
let locked: FastifyInstance;

function serve(operator_password: string | undefined): FastifyInstance {
  const ready = async () => true;
  const board = { hosts: ledger.hosts, queue: tasks };
  const deps = { logger: silentLogger(), metrics: createMetrics(), board, ready };
  return buildServer({ ...deps, operator_password });
}

/** Jobs in every state, with everything a producer or a failing worker can put into them. */
async function fillQueue(): Promise<void> {
  await queue.add(HOSTILE, request, { jobId: `done ${HOSTILE}` });
  await queue.add(HOSTILE, request, { jobId: "fails" });
  const worker = new Worker(
    "tasks",
    async (job) => {
      await job.log(HOSTILE);
      await job.updateProgress({ note: HOSTILE });
      if (job.id === "fails") throw new Error(`INVALID_REQUEST ${HOSTILE}`);
      return { status: HOSTILE, stdout: { text: HOSTILE }, error: { code: HOSTILE, message: HOSTILE } };
    },
    { connection: connection.duplicate({ maxRetriesPerRequest: null }), prefix, name: HOSTILE },
  );
  await waitFor(async () => (await queue.getJobCountByTypes("completed", "failed")) === 2, {
    bound_ms: 10_000,
    what: "both jobs end",
  });
  await worker.close();
  await queue.add(HOSTILE, request, { jobId: "waits", deduplication: { id: HOSTILE } });
  await queue.add(HOSTILE, request, { jobId: "sleeps", delay: 3_600_000 });
  await queue.add(HOSTILE, [HOSTILE], { jobId: "unknown-form", priority: 3 });
}

beforeAll(async () => {
  connection = new Redis(REDIS_URL, { maxRetriesPerRequest: null });
  queue = new Queue("tasks", { connection, prefix });
  ledger = await openLedger({ url: REDIS_URL, prefix, role: "test" });
  tasks = openTaskQueue({ ledger, prefix });
  open = serve(undefined);
  locked = serve(PASSWORD);
  await fillQueue();
});

afterAll(async () => {
  await open.close();
  await locked.close();
  await queue.obliterate({ force: true });
  await queue.close();
  await tasks.close();
  await ledger.close();
  connection.disconnect();
});

const local = { host: "127.0.0.1:7070" };
const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;

describe("the board's answers", () => {
  const JOBS = ["fails", "waits", "sleeps", "unknown-form", encodeURIComponent(`done ${HOSTILE}`)];
  const pages = [
    "/queues/api/queues?activeQueue=tasks&status=latest&jobsPerPage=50",
    ...["waiting", "completed", "failed", "delayed", "prioritized"].map(
      (status) => `/queues/api/queues?activeQueue=tasks&status=${status}`,
    ),
    ...JOBS.flatMap((job) => ["", "/logs", "/flow"].map((part) => `/queues/api/queues/tasks/${job}${part}`)),
    "/queues/api/job-schedulers",
    "/queues/api/queues/tasks/metrics",
    "/queues/api/queues/tasks/workers",
    "/queues/api/queues/tasks/default-job-options",
    "/queues/api/redis/stats",
    "/queues/",
    "/queues/queue/tasks/fails",
  ];

  it.each(pages)("hold no secret and no markup of a job: %s", async (url) => {
    const reply = await open.inject({ url, headers: local });

    expect(reply.body).not.toContain(CANARY);
    expect(reply.body).not.toContain("onerror");
    expect(reply.statusCode).toBeLessThan(500);
  });

  it("still show each job, its kind, its sizes and the code of its error", async () => {
    const reply = await open.inject({
      url: "/queues/api/queues?activeQueue=tasks&status=latest",
      headers: local,
    });
    const [shown] = reply.json<{ queues: { name: string; readOnlyMode: boolean; jobs: Record<string, unknown>[] }[] }>()
      .queues;
    const job = (id: string) => shown?.jobs.find((candidate) => candidate["id"] === id);

    expect(shown).toMatchObject({ name: "tasks", readOnlyMode: true });
    expect(shown?.jobs).toHaveLength(5);
    expect(job("waits")).toMatchObject({ name: "request", data: { command_arguments: 3, env_variables: 2, files: 1 } });
    expect(job("fails")).toMatchObject({
      isFailed: true,
      failedReason: "INVALID_REQUEST (the text is not shown here)",
    });
    expect(job("unknown-form")).toMatchObject({ name: "unknown" });
  });

  it("let scripts come from the gateway only, on pages, refusals and errors alike", async () => {
    for (const url of ["/queues/", "/queues/api/queues", "/nowhere", "/queues/api/redis/stats"]) {
      const { headers } = await open.inject({ url, headers: local });

      expect(headers["content-security-policy"]).toContain("script-src 'self';");
      expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
      expect(headers["x-content-type-options"]).toBe("nosniff");
    }
  });
});

describe("the board", () => {
  it.each([
    ["PUT", "/queues/api/queues/tasks/pause"],
    ["PUT", "/queues/api/queues/tasks/empty"],
    ["PUT", "/queues/api/queues/tasks/obliterate"],
    ["PUT", "/queues/api/queues/tasks/fails/retry"],
    ["PUT", "/queues/api/queues/tasks/waits/clean"],
    ["PUT", "/queues/api/queues/tasks/sleeps/promote"],
    ["PATCH", "/queues/api/queues/tasks/waits/update-data"],
    ["POST", "/queues/api/queues/tasks/add"],
    ["PUT", "/queues/api/queues/pause"],
  ] as const)("changes nothing: %s %s", async (method, url) => {
    const before = await queue.getJobCounts();

    const reply = await open.inject({ method, url, headers: local, payload: {} });

    expect([403, 404, 405]).toContain(reply.statusCode);
    expect(await queue.getJobCounts()).toEqual(before);
    expect(await queue.isPaused()).toBe(false);
  });

  it("opens with the operator's password and not without, its static files included", async () => {
    const page = (await open.inject({ url: "/queues/", headers: local })).body;
    const script = /static\/js\/main[^"]+\.js/.exec(page)?.[0];
    for (const url of ["/queues/", "/queues/api/queues", `/queues/${script}`]) {
      const refused = await locked.inject({ url, headers: local });
      const wrong = await locked.inject({ url, headers: { ...local, authorization: basic("operator:wrong") } });
      const right = await locked.inject({ url, headers: { ...local, authorization: basic(`operator:${PASSWORD}`) } });

      expect([refused.statusCode, wrong.statusCode, right.statusCode]).toEqual([401, 401, 200]);
      expect(refused.headers["www-authenticate"]).toMatch(/^Basic /);
    }
  });

  it("is closed to a proxy and to a rebound name while it has no password", async () => {
    const proxied = await open.inject({ url: "/queues/", headers: { ...local, "x-forwarded-for": "203.0.113.9" } });
    const rebound = await open.inject({ url: "/queues/api/queues", headers: { host: "evil.example" } });
    const outside = await open.inject({ url: "/queues/", headers: local, remoteAddress: "203.0.113.9" });

    expect([proxied.statusCode, rebound.statusCode, outside.statusCode]).toEqual([403, 403, 403]);
  });
});
