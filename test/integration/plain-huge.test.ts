/** A plain producer's job of hundreds of megabytes: it stays in Redis, whoever fetches it or looks at it. */
import { readFileSync } from "node:fs";
import { createMetrics, silentLogger } from "@holdfast/chassis";
import { openLedger } from "@holdfast/ledger";
import { openTaskQueue } from "@holdfast/queue";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildServer } from "../../apps/gateway/src/server.js";
import { openPlainProducer, type PlainProducer, swell } from "../support/plain-producer.js";
import { type PrivateRedis, startPrivateRedis } from "../support/private-redis.js";
import { openRecoveryBench, type RecoveryBench, type WorkerProcess } from "./recovery-bench.js";

const HUGE_BYTES = 200_000_000;
const GROWTH_MB_MAX = 96;
const LATER = { delay: 3_600_000 };

let server: PrivateRedis;
let bench: RecoveryBench;
let worker: WorkerProcess;
let producer: PlainProducer;
beforeAll(async () => {
  // Writing so much to disk holds a Redis up for many seconds: nobody else's, and not for what is tested here.
  server = await startPrivateRedis({ settings: { appendonly: "no" } });
  bench = await openRecoveryBench({ REDIS_URL: server.url, HOLDFAST_ALLOW_NO_AOF: "true" });
  worker = await bench.worker();
  const { REDIS_URL: url = "", HOLDFAST_QUEUE_PREFIX: prefix = "" } = bench.env;
  producer = await openPlainProducer({ url, prefix });
});
afterAll(async () => {
  await producer.close();
  await bench.close();
  await server.stop();
});

function residentMb(): number {
  const [, kb] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${worker.pid}/status`, "utf8")) ?? [];
  return Number(kb) / 1_024;
}

async function promote(id: string): Promise<void> {
  const { REDIS_URL: url = "", HOLDFAST_PREFIX: prefix = "", HOLDFAST_QUEUE_PREFIX: queue_prefix = "" } = bench.env;
  const ledger = await openLedger({ url, prefix, role: "test" });
  const queue = openTaskQueue({ ledger, prefix: queue_prefix });
  await (await queue.boardQueue().getJob(id))?.promote();
  await queue.close();
  await ledger.close();
}

it("the board shows how long it is, and the rest of the page, without reading it", async () => {
  const { REDIS_URL: url = "", HOLDFAST_PREFIX: prefix = "", HOLDFAST_QUEUE_PREFIX: queue_prefix = "" } = bench.env;
  const huge = await producer.add({}, LATER);
  const small = await producer.add({ image: "x", command: ["true"] }, LATER);
  await swell(producer, huge.id, HUGE_BYTES / 2);
  const ledger = await openLedger({ url, prefix, role: "test" });
  const queue = openTaskQueue({ ledger, prefix: queue_prefix });
  const deps = { logger: silentLogger(), metrics: createMetrics(), ready: async () => true };
  const gateway = buildServer({ ...deps, board: { hosts: ledger.hosts, queue }, operator_password: undefined });
  const before = process.memoryUsage().rss;

  const local = { headers: { host: "127.0.0.1:7070" } };
  const page = await gateway.inject({ ...local, url: "/queues/api/queues?activeQueue=tasks&status=delayed" });
  const one = await gateway.inject({ ...local, url: `/queues/api/queues/tasks/${huge.id}` });

  const shown: { id: string; data: unknown }[] = page.json().queues[0].jobs;
  const data = { kind: "too long to be shown", bytes: expect.any(Number) };
  expect(shown.find(({ id }) => id === huge.id)).toMatchObject({ data });
  expect(shown.find(({ id }) => id === small.id)).toMatchObject({ data: { kind: "request", command_arguments: 1 } });
  expect(one.json()).toMatchObject({ job: { data }, status: "delayed" });
  expect((process.memoryUsage().rss - before) / 2 ** 20).toBeLessThan(GROWTH_MB_MAX);
  await gateway.close();
  await queue.close();
  await ledger.close();
  await Promise.all([huge.remove(), small.remove()]);
});

it("its data is refused in words, the worker's memory stays bounded, and another task goes on meanwhile (L3)", async () => {
  const neighbour = await bench.start("while [ ! -e stop ]; do echo on; sleep 0.2; done", { timeout_seconds: 120 });
  const { id, finished } = await producer.add({}, { ...LATER, attempts: 5, backoff: 1_000 });
  await swell(producer, id, HUGE_BYTES);
  const before = residentMb();
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, residentMb());
  }, 20);
  await promote(id);

  await expect(finished).rejects.toThrow(/INVALID_REQUEST: The job has 200000\d{3} bytes\..* 25165824 bytes at most/);
  clearInterval(watch);

  expect(most - before).toBeLessThan(GROWTH_MB_MAX);
  expect(await producer.redis.hstrlen(producer.keyOf(id), "data"), "what was refused is not kept").toBeLessThan(100);
  const { events } = await bench.client.status(neighbour);
  await expect
    .poll(async () => (await bench.client.status(neighbour)).events, { timeout: 10_000 })
    .toBeGreaterThan(events);
  await bench.client.cancel(neighbour);
  expect(await bench.client.outcome(neighbour)).toMatchObject({ status: "CANCELLED", attempt: 1 });
});

it("a name or options of megabytes are refused likewise", async () => {
  const request = { image: "holdfast/shell:1", command: ["true"] };
  const named = await producer.add(request, {}, "n".repeat(3_000_000));

  await expect(named.finished).rejects.toThrow(/The job has 3\d{6} bytes.*name and options 1 MiB each/);
});

it("an id for deduplication of megabytes is refused likewise, shown by its length, and forgotten with the job", async () => {
  const { REDIS_URL: url = "", HOLDFAST_PREFIX: prefix = "", HOLDFAST_QUEUE_PREFIX: queue_prefix = "" } = bench.env;
  const request = { image: "holdfast/shell:1", command: ["true"] };
  const id = "d".repeat(3_000_000);
  const job = await producer.add(request, { ...LATER, deduplication: { id } });
  await producer.redis.hset(producer.keyOf(job.id), { opts: "{}", timestamp: "1".repeat(3_000_000) });
  const ledger = await openLedger({ url, prefix, role: "test" });
  const queue = openTaskQueue({ ledger, prefix: queue_prefix });

  const shown = await queue.boardQueue().getJob(job.id);
  expect(shown?.data).toMatchObject({ bytes: expect.any(Number) });
  expect([shown?.deduplicationId, shown?.timestamp]).toEqual([undefined, 0]);
  await producer.redis.hset(producer.keyOf(job.id), { timestamp: 1 });
  await queue.close();
  await ledger.close();
  await promote(job.id);

  await expect(job.finished).rejects.toThrow(/The job has 3\d{6} bytes/);
  expect(await producer.redis.exists(producer.keyOf(`de:${id}`))).toBe(0);
});
