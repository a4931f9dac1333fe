import type { HoldfastClient, TaskRef } from "@holdfast/client";
import type { StreamItem, TaskEvent } from "@holdfast/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PrivateRedis, startPrivateRedis } from "../support/private-redis.js";
import { appendAll, type ClientBench, openClientBench, REQUEST } from "./client-bench.js";

let redis: PrivateRedis;
let bench: ClientBench;

beforeAll(async () => {
  redis = await startPrivateRedis({ settings: { appendfsync: "always" } });
  bench = await openClientBench(redis.url);
});
afterAll(async () => {
  await bench.close();
  await redis.stop();
});

const isStored = (item: StreamItem): item is TaskEvent => "sequence" in item;
const drawn = (name: string): string => `${name}_${Math.random().toString(36).slice(2)}`;

interface Reading {
  readonly after: number;
  /** Drops the connection after this many events. */
  readonly most?: number;
}

async function readEvents(
  client: HoldfastClient,
  task: TaskRef,
  { after, most = Infinity }: Reading,
): Promise<TaskEvent[]> {
  const seen: TaskEvent[] = [];
  if (most === 0) return seen;
  for await (const item of client.events(task, { after })) {
    if (!isStored(item)) continue;
    seen.push(item);
    if (seen.length >= most) break;
  }
  return seen;
}

function textOf(events: readonly TaskEvent[]): string {
  return events.map((event) => (event.kind === "task_log" ? event.data : "")).join("");
}

function lines(from: number, to: number): string {
  return Array.from({ length: to - from + 1 }, (_, k) => `${from + k}\n`).join("");
}

const expectWhole = (events: readonly TaskEvent[]): void => {
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  expect(events.filter(({ kind }) => kind === "task_finished")).toHaveLength(1);
  expect(events.at(-1)?.kind).toBe("task_finished");
};

describe("a stream of events", () => {
  it("is read whole over drops at random points, in two processes' clients (V1, O-28)", async () => {
    const task = await bench.client.submit({ ...REQUEST, task_id: drawn("lines") });
    const clients = [bench.client, await bench.another()];
    const held = await bench.grant(task);
    const batches = Array.from({ length: 400 }, (_, k) => lines(k * 50 + 1, k * 50 + 50));
    const writing = appendAll(bench.ledger, held, batches).then(() => bench.settle(held));

    const seen: TaskEvent[] = [];
    const drops = [...Array.from({ length: 4 }, () => 1 + Math.floor(Math.random() * 70)), 0, 0];
    for (const [k, most] of drops.entries()) {
      const client = clients[k % 2] ?? bench.client;
      seen.push(...(await readEvents(client, task, { after: seen.length, most })));
    }
    seen.push(...(await readEvents(bench.client, task, { after: seen.length })));
    await writing;

    expectWhole(seen);
    expect(textOf(seen)).toBe(lines(1, 20_000));
  });

  it("ends for a reader that comes early, at once, or late, a hundred times (O-29)", async () => {
    const tasks = [];
    for (let k = 0; k < 100; k += 1) tasks.push(await bench.client.submit({ ...REQUEST, task_id: drawn(`late_${k}`) }));
    const early = tasks.map((task) => readEvents(bench.client, task, { after: 0 }));
    for (const task of tasks) {
      const held = await bench.grant(task);
      await appendAll(bench.ledger, held, ["hi"]);
      await bench.settle(held);
    }
    const late = tasks.map((task) => readEvents(bench.client, task, { after: 0 }));

    for (const events of [...(await Promise.all(early)), ...(await Promise.all(late))]) {
      expectWhole(events);
      expect(textOf(events)).toBe("hi");
    }
  });

  it("is the same for early and late readers, byte for byte (T1)", async () => {
    const task = await bench.client.submit({ ...REQUEST, task_id: drawn("same") });
    const live = readEvents(bench.client, task, { after: 0 });
    const held = await bench.grant(task);
    await appendAll(bench.ledger, held, ["a", "x".repeat(10_000), "日本語"]);
    await bench.settle(held);

    expect(await live).toEqual(await readEvents(await bench.another(), task, { after: 0 }));
  });

  it("is TASK_NOT_FOUND for an unknown task, not an open stream (O-29, W1)", async () => {
    const task = await bench.client.submit({ ...REQUEST, workspace_id: "other", task_id: drawn("hidden") });

    for (const ref of ["nobody", task.task_id]) {
      await expect(readEvents(bench.client, ref, { after: 0 })).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
    }
  });

  it("ends when its signal fires, though the task goes on", async () => {
    const task = await bench.client.submit({ ...REQUEST, task_id: drawn("endless") });
    const abort = new AbortController();
    const seen: StreamItem[] = [];
    const reading = (async () => {
      for await (const item of bench.client.events(task, { signal: abort.signal })) {
        seen.push(item);
        abort.abort();
      }
    })();

    await reading.catch((error: unknown) => expect(abort.signal.reason).toBe(error));
    expect(seen).toHaveLength(1);
  });
});

describe("an outcome that is waited for", () => {
  it("comes when the task ends, with its text", async () => {
    const task = await bench.client.submit({ ...REQUEST, task_id: drawn("waits") });
    const waiting = bench.client.outcome(task);
    expect(await bench.client.outcome(task, { wait_ms: 0 })).toBeNull();
    expect(await bench.client.outcome(task, { wait_ms: 50 })).toBeNull();
    const held = await bench.grant(task);
    const stdout = {
      text: "42\n",
      encoding: "utf8",
      truncated: false,
      total_bytes: 3,
      sha256: "0".repeat(64),
    } as const;
    await bench.settle(held, { stdout });

    expect((await waiting).stdout).toEqual(stdout);
    expect(await bench.client.outcome(task, { wait_ms: 0 })).toEqual(await waiting);
  });

  it("is TASK_NOT_FOUND for an unknown task, and is given up at a signal", async () => {
    await expect(bench.client.outcome("nobody")).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
    const task = await bench.client.submit({ ...REQUEST, task_id: drawn("given_up") });
    const abort = new AbortController();
    const waiting = bench.client.outcome(task, { signal: abort.signal });
    abort.abort();

    await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
  });
});

describe("a Redis that is killed and comes back (V1)", () => {
  it("leaves readers and waiters without a hole, a repeat or a hang", async () => {
    const task = await bench.client.submit({ ...REQUEST, task_id: drawn("restart") });
    const held = await bench.grant(task);
    const reading = readEvents(bench.client, task, { after: 0 });
    const waiting = bench.client.outcome(task);
    await appendAll(bench.ledger, held, ["before "]);
    await redis.kill();
    await redis.restart();
    const next = await bench.ledger.tasks.append(held, held.sequence + 2, [
      { kind: "task_log", stream: "stdout", encoding: "utf8", data: "after", bytes: 5, dropped_bytes: 0 },
    ]);
    expect(next.kind).toBe("appended");
    await bench.settle(held);

    const events = await reading;
    expectWhole(events);
    expect(textOf(events)).toBe("before after");
    expect((await waiting).status).toBe("SUCCEEDED");
  });
});
