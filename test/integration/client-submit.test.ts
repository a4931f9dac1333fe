import { openClient } from "@holdfast/client";
import { HoldfastError, type TaskRequestInput } from "@holdfast/contract";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../support/free-port.js";
import { type PrivateRedis, startPrivateRedis } from "../support/private-redis.js";
import { waitFor } from "../support/wait-for.js";
import { type ClientBench, openClientBench, REQUEST } from "./client-bench.js";
import { gate, handleWith } from "./queue-bench.js";

const ONE_SLOT = { slots: 1, cpu_milli: 64_000, memory_mb: 65_536, pids: 8_192 };

let redis: PrivateRedis;
let bench: ClientBench;

beforeAll(async () => {
  redis = await startPrivateRedis();
  bench = await openClientBench(redis.url);
});
afterEach(() => redis.thaw());
afterAll(async () => {
  await bench.close();
  await redis.stop();
});

async function failureOf(work: Promise<unknown>): Promise<{ error: HoldfastError; ms: number }> {
  const start = performance.now();
  const error = await work.then(
    () => new Error("it did not fail"),
    (thrown: unknown) => thrown,
  );
  if (error instanceof HoldfastError) return { error, ms: performance.now() - start };
  throw error;
}

const drawn = (name: string): string => `${name}_${Math.random().toString(36).slice(2)}`;

describe("a request sent more than once", () => {
  it("is one task, whichever client sends it and however many at once (T2, O-26)", async () => {
    const clients = [bench.client, await bench.another()];
    const request = { ...REQUEST, task_id: drawn("twice") };
    const before = await bench.queue.counts("tasks");

    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, k) => (clients[k % 2] ?? bench.client).submit(request)),
    );

    expect(new Set(replies.map(({ task_id }) => task_id))).toEqual(new Set([request.task_id]));
    expect(replies.filter(({ existing }) => !existing)).toHaveLength(1);
    expect((await bench.queue.counts("tasks")).waiting).toBe(before.waiting + 1);
    expect((await bench.client.status(request.task_id)).delivery).toBe(1);
  });

  it("conflicts where the body differs, and is answered from the record once it has ended (T1, T2, O-26)", async () => {
    const request = { ...REQUEST, task_id: drawn("replay") };
    const task = await bench.client.submit(request);
    const { error } = await failureOf(bench.client.submit({ ...request, command: ["false"] }));
    expect(error.code).toBe("TASK_CONFLICT");
    await bench.settle(await bench.grant(task));
    const first = await bench.client.outcome(task);

    expect(await bench.client.submit(request)).toMatchObject({ existing: true });
    expect((await failureOf(bench.client.submit({ ...request, env: { A: "b" } }))).error.code).toBe("TASK_CONFLICT");
    expect(await bench.client.outcome(task)).toEqual(first);
  });

  it("is another task in another workspace (W1)", async () => {
    const request = { ...REQUEST, task_id: drawn("same") };
    await bench.client.submit({ ...request, workspace_id: "left" });

    const right = await bench.client.submit({ ...request, workspace_id: "right", command: ["false"] });

    expect(right.existing).toBe(false);
    expect((await failureOf(bench.client.status(request.task_id))).error.code).toBe("TASK_NOT_FOUND");
  });
});

describe("a request that cannot be taken", () => {
  it.each([
    ["timeout_seconds", { timeout_seconds: 0 }],
    ["resources.memory_mb", { resources: { memory_mb: "much" } }],
    ["files.0.path", { files: [{ path: "../up", content: "" }] }],
    ["env.A", { env: { A: "x".repeat(70_000) } }],
    ["user", { user: "root" }],
    ["task_id", { task_id: "a:b" }],
    ["command", { command: [] }],
  ])("is refused with the field %s", async (field, more) => {
    const { error } = await failureOf(bench.client.submit({ ...REQUEST, ...more } as TaskRequestInput));

    expect(error).toMatchObject({ code: "INVALID_REQUEST", field, fault: "user" });
    expect(error.message).toContain(field);
  });

  it("is refused by the fleet with the fleet's code", async () => {
    const codes = await Promise.all([
      failureOf(bench.client.submit({ ...REQUEST, image: "nobody/has:1" })),
      failureOf(bench.client.submit({ ...REQUEST, resources: { memory_mb: 4_000_000 } })),
      failureOf(bench.client.submit({ ...REQUEST, resources: { memory_mb: 2 } })),
    ]);

    expect(codes.map(({ error }) => error.code)).toEqual([
      "IMAGE_NOT_ALLOWED",
      "RESOURCES_TOO_LARGE",
      "RESOURCES_TOO_SMALL",
    ]);
  });
});

describe("ids that would split a key (AT-G1)", () => {
  const hostile = ["a:b", "{evil}", "e*vil", "e\nvil", "e\0vil", "evil".repeat(2_500), "..", "1e+309", "nan\u{2028}"];

  it("never reach one, whichever call they come by", async () => {
    const connection = bench.ledger.connection("keys");
    const keysOf = async () => (await connection.keys("*")).sort();
    const before = await keysOf();
    for (const id of hostile) {
      for (const ref of [id, { task_id: "task_1", workspace_id: id }]) {
        const request = typeof ref === "string" ? { ...REQUEST, task_id: ref } : { ...REQUEST, ...ref };
        const calls = [
          bench.client.submit(request),
          bench.client.status(ref),
          bench.client.outcome(ref, { wait_ms: 100 }),
          bench.client.cancel(ref),
          (async () => {
            for await (const _ of bench.client.events(ref)) break;
          })(),
        ];
        for (const call of calls) {
          const { error } = await failureOf(call);
          expect(["INVALID_REQUEST", "TASK_NOT_FOUND"]).toContain(error.code);
        }
      }
      await failureOf(bench.client.list({ workspace_id: id }));
    }

    expect(await keysOf()).toEqual(before);
  });
});

describe("cancel", () => {
  it("of a waiter is final and completes its job with the outcome (T3)", async () => {
    const own = await openClientBench(redis.url, ONE_SLOT);
    const release = gate();
    const handled = await handleWith(own, (envelope) =>
      own.handle(envelope, async () => {
        await release.opened;
        return {};
      }),
    );
    await own.client.submit({ ...REQUEST, task_id: "blocker" });
    const waiter = await own.client.submit({ ...REQUEST, task_id: "waiter" });
    handled.consumer.setSlots(2);
    const jobIs = (state: string) =>
      waitFor(async () => (await own.queue.state("tasks", "default.waiter.1")) === state, {
        bound_ms: 8_000,
        what: `the job is ${state}`,
      });
    await jobIs("parked");
    expect((await own.client.status(waiter)).waiting).toMatchObject({ reason: "host_full", queue_paused: false });
    await own.queue.boardQueue().pause();
    expect((await own.client.status(waiter)).waiting).toMatchObject({ reason: "host_full", queue_paused: true });
    await own.queue.boardQueue().resume();

    const cancelled = await own.client.cancel(waiter);
    await jobIs("finished");

    expect(cancelled).toMatchObject({ kind: "cancelled", outcome: { status: "CANCELLED", ran: false } });
    const job = await own.queue.boardQueue().getJob("default.waiter.1");
    expect(job?.returnvalue).toMatchObject({ status: "CANCELLED" });
    expect(await own.client.cancel(waiter)).toMatchObject({ kind: "cancelled" });
    expect(await own.client.outcome(waiter)).toMatchObject({ status: "CANCELLED", task_id: "waiter" });
    release.open();
    await handled.consumer.close(2_000);
    await own.close();
  });

  it("of a running task is requested, of an ended one finished, of an unknown one an error", async () => {
    const task = await bench.client.submit({ ...REQUEST, task_id: drawn("runs") });
    const held = await bench.grant(task);

    expect(await bench.client.cancel(task)).toEqual({ kind: "requested" });
    expect((await bench.client.status(task)).cancel_requested).toBe(true);
    await bench.settle(held);
    expect(await bench.client.cancel(task)).toMatchObject({ kind: "finished", outcome: { status: "SUCCEEDED" } });
    expect((await failureOf(bench.client.cancel("nobody"))).error.code).toBe("TASK_NOT_FOUND");
  });
});

describe("a client whose Redis is away", () => {
  it("fails each call with LEDGER_UNAVAILABLE within 5 s, and works again afterwards", async () => {
    const request = { ...REQUEST, task_id: drawn("away") };
    redis.freeze();
    const calls = await Promise.all([
      failureOf(bench.client.submit(request)),
      failureOf(bench.client.status("task_1")),
      failureOf(bench.client.outcome("task_1")),
      failureOf(bench.client.cancel("task_1")),
      failureOf(bench.client.list()),
      failureOf(bench.client.hosts()),
      failureOf(bench.client.sandboxes()),
    ]);
    for (const { error, ms } of calls) {
      expect(error).toMatchObject({ code: "LEDGER_UNAVAILABLE", retryable: true, fault: "platform" });
      expect(ms).toBeLessThan(5_000);
    }
    redis.thaw();

    await waitFor(() => bench.client.submit(request), { bound_ms: 5_000, what: "submit works again" });
    expect((await bench.client.status(request.task_id)).delivery).toBe(1);
  });

  it("cannot be opened, and says so within 5 s", async () => {
    const { error, ms } = await failureOf(
      openClient({ redis_url: `redis://127.0.0.1:${await freePort()}` }).then((client) =>
        client.submit(REQUEST).finally(() => client.close()),
      ),
    );

    expect(error.code).toBe("LEDGER_UNAVAILABLE");
    expect(ms).toBeLessThan(5_000);
  });
});

describe("what a client sees", () => {
  it("are tasks, newest first, hosts and sandboxes", async () => {
    const workspace_id = drawn("seen");
    const tasks = [];
    for (const k of [1, 2, 3])
      tasks.push(await bench.client.submit({ ...REQUEST, workspace_id, task_id: `task_${k}` }));
    const [, , third] = tasks;
    const held = third && (await bench.grant(third));

    const listed = await bench.client.list({ workspace_id, limit: 2 });

    expect(listed.tasks.map(({ task_id }) => task_id)).toEqual(["task_3", "task_2"]);
    expect(listed).toMatchObject({ looked_at: 2, complete: false });
    expect(await bench.client.hosts()).toMatchObject([{ limits: { slots: 4 }, reserved: { slots: 1 } }]);
    expect(await bench.client.sandboxes()).toMatchObject([{ task_id: "task_3", state: "active" }]);
    if (held) await bench.settle(held);
  });
});
