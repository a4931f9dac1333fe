/** Events of a task as readers get them: 1..n in order, or an explicit gap (V1). */
import { BOUNDS, type StreamItem, type TaskEvent } from "@holdfast/contract";
import type { Grant } from "@holdfast/ledger";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startPrivateRedis } from "../support/private-redis.js";
import { waitFor } from "../support/wait-for.js";
import { type LedgerFixture, openFixture, outcomeOf, type Worker } from "./ledger-fixture.js";

let f: LedgerFixture;
let worker: Worker;

beforeEach(async () => {
  f = await openFixture();
  worker = await f.register();
});
afterEach(async () => {
  await f.expectCounted();
  await f.close();
});

const log = (data: string) =>
  ({ kind: "task_log", stream: "stdout", encoding: "utf8", data, bytes: data.length, dropped_bytes: 0 }) as const;

/** Everything a follower yields, in the background. */
function reading(grant: Pick<Grant, "workspace_id" | "task_id">, after = 0, ledger = f.ledger) {
  const items: StreamItem[] = [];
  const abort = new AbortController();
  const done = (async () => {
    for await (const item of ledger.events.follow(grant, { after, signal: abort.signal })) items.push(item);
  })();
  done.catch(() => undefined);
  return { items, done, abort, sequences: () => items.flatMap((item) => ("sequence" in item ? [item.sequence] : [])) };
}

function upTo(last: number, from = 1): number[] {
  return Array.from({ length: last - from + 1 }, (_, n) => n + from);
}

async function subscribers(grant: Grant): Promise<number> {
  return Number((await f.redis.pubsub("NUMSUB", `${f.root}:task:default:${grant.task_id}:news`))[1]);
}

describe("follow", () => {
  it("gives what was stored before, what comes while it reads, and ends after the terminal event (V1)", async () => {
    const grant = await f.running(worker);
    await f.ledger.tasks.append(grant, 2, [log("one"), log("two")]);
    const reader = reading(grant);
    await waitFor(() => reader.items.length === 4, { bound_ms: 3_000, what: "four stored events" });

    await f.ledger.tasks.append(grant, 4, [log("small"), log("x".repeat(10_000))]);
    await f.finish(grant);
    await reader.done;

    expect(reader.items.map(({ kind }) => kind)).toEqual([
      ...["task_accepted", "task_started", "task_log", "task_log", "task_log", "task_log", "task_finished"],
    ]);
    expect(reader.sequences()).toEqual(upTo(7));
    expect(reader.items[5]).toMatchObject({ data: "x".repeat(10_000), attempt: 1 });
    await waitFor(async () => (await subscribers(grant)) === 0, { bound_ms: 2_000, what: "it unsubscribes" });
  });

  it("hears of an event without waiting for a silence, small or large (V1)", async () => {
    const grant = await f.running(worker);
    const reader = reading(grant, 2);
    await waitFor(() => subscribers(grant), { bound_ms: 2_000, what: "the reader is subscribed" });
    await f.ledger.tasks.append(grant, 2, [log("warm")]);
    await waitFor(() => reader.items.length === 1, { bound_ms: 3_000, what: "the first event" });

    for (const data of ["small", "x".repeat(10_000)]) {
      const [begun, seen] = [performance.now(), reader.items.length];
      await f.ledger.tasks.append(grant, 2 + seen, [log(data)]);
      await waitFor(() => reader.items.length > seen, { bound_ms: 3_000, what: "the event", look_ms: 2 });
      expect(performance.now() - begun).toBeLessThan(500);
    }

    await f.finish(grant);
    await reader.done;
  });

  it("resumes after any cursor with exactly what follows it, also from another ledger (V1)", async () => {
    const grant = await f.running(worker);
    for (let n = 2; n < 600; n += 100) {
      await f.ledger.tasks.append(
        grant,
        n,
        Array.from({ length: 100 }, (_, k) => log(`${n + k}`)),
      );
    }
    await f.finish(grant);

    for (const after of [0, 1, 2, 299, 601, 602]) {
      const reader = reading(grant, after, f.another());
      await reader.done;
      expect(reader.sequences()).toEqual(upTo(603, after + 1));
    }
    const late = reading(grant, 603);
    await late.done;
    expect(late.items).toEqual([]);
  });

  it("tells a reader whose cursor lies beyond the end that it starts again (V1)", async () => {
    const grant = await f.running(worker);
    await f.finish(grant);

    const reader = reading(grant, 99);
    await reader.done;

    expect(reader.items[0]).toEqual({ kind: "reset" });
    expect(reader.sequences()).toEqual([1, 2, 3]);
  });

  it("throws TASK_NOT_FOUND for an unknown task (W1)", async () => {
    const reader = reading({ workspace_id: "w", task_id: "t" } as unknown as Grant);

    await expect(reader.done).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
  });

  it("ends at once when it is aborted, and nobody stays subscribed", async () => {
    const grant = await f.running(worker);
    const reader = reading(grant);
    await waitFor(() => reader.items.length === 2, { bound_ms: 3_000, what: "two events" });

    reader.abort.abort();
    const begun = performance.now();
    await reader.done;

    expect(performance.now() - begun).toBeLessThan(200);
    await waitFor(async () => (await subscribers(grant)) === 0, { bound_ms: 2_000, what: "it unsubscribes" });
    await f.finish(grant);
  });

  it("serves many readers of many tasks over one connection", async () => {
    const grants = [await f.running(worker), await f.running(worker)];
    const readers = grants.flatMap((grant) => [reading(grant), reading(grant), reading(grant)]);
    await waitFor(() => readers.every(({ items }) => items.length === 2), { bound_ms: 3_000, what: "all read" });

    const name = `${f.ledger.prefix}:test:subscriber`;
    const clients = `${await f.redis.client("LIST")}`.split("\n").filter((line) => line.includes(`name=${name} `));
    for (const grant of grants) await f.finish(grant);
    await Promise.all(readers.map(({ done }) => done));

    expect(clients).toHaveLength(1);
    for (const reader of readers) expect(reader.sequences()).toEqual([1, 2, 3]);
  });

  it("passes heartbeats on without moving the cursor (V1)", async () => {
    const grant = await f.running(worker);
    const reader = reading(grant);
    await waitFor(() => reader.items.length === 2, { bound_ms: 3_000, what: "two events" });

    await f.ledger.events.heartbeat(grant);
    await waitFor(() => reader.items.length === 3, { bound_ms: 2_000, what: "the heartbeat" });
    await f.finish(grant);
    await reader.done;

    expect(reader.items[2]).toMatchObject({ kind: "task_heartbeat", at_ms: expect.any(Number) });
    expect(reader.sequences()).toEqual([1, 2, 3]);
  });

  it("loses nothing for a reader that is slow, and holds no more than a page for it (V1)", async () => {
    const grant = await f.running(worker);
    const events = f.ledger.events.follow(grant, { after: 0 })[Symbol.asyncIterator]();
    await events.next();
    for (let n = 2; n < 2_002; n += 50) {
      await f.ledger.tasks.append(
        grant,
        n,
        Array.from({ length: 50 }, () => log("y".repeat(500))),
      );
    }
    await f.finish(grant);

    const seen = [1];
    for (let item = await events.next(); !item.done; item = await events.next()) {
      seen.push((item.value as TaskEvent).sequence);
    }

    expect(seen).toEqual(upTo(2_003));
  });
});

describe("trimmed history", () => {
  it("of a task that wrote more than 8 MiB is an explicit gap; the states of the task are never trimmed (V1)", async () => {
    const grant = await f.running(worker);
    const batch = 200_000;
    const count = Math.ceil((2 * BOUNDS.stream_bytes_max) / batch);
    let sequence = 2;
    for (let n = 0; n < count; n += 1) {
      const reply = await f.ledger.tasks.append(grant, sequence, [log(`${n}`.padEnd(batch, "z"))]);
      if (reply.kind !== "appended") throw new Error(reply.kind);
      sequence = reply.sequence;
    }
    const kept = (await f.redis.xlen(`${f.root}:task:default:${grant.task_id}:logs`)) * batch;
    const stored = await f.redis.xrange(`${f.root}:task:default:${grant.task_id}:logs`, "-", "+");
    const bytes = stored.reduce((sum, [, fields]) => sum + (fields[5]?.length ?? 0), 0);
    const [all, cut] = await f.redis.hmget(`${f.root}:task:default:${grant.task_id}`, "log_bytes", "log_cut_bytes");
    await f.finish(grant);

    const reader = reading(grant);
    await reader.done;

    expect(bytes).toBe(Number(all) - Number(cut));
    expect(kept).toBeLessThanOrEqual(BOUNDS.stream_bytes_max + batch);
    expect(kept).toBeGreaterThan(BOUNDS.stream_bytes_max * 0.9);
    const [accepted, started, gap, first] = reader.items;
    expect([accepted?.kind, started?.kind, gap?.kind]).toEqual(["task_accepted", "task_started", "gap"]);
    const firstKept = first as TaskEvent;
    expect(gap).toEqual({ kind: "gap", from: 3, to: firstKept.sequence - 1 });
    expect(reader.sequences()).toEqual([1, 2, ...upTo(sequence + 1, firstKept.sequence)]);
    const marks = await f.redis.llen(`${f.root}:task:default:${grant.task_id}:marks`);
    expect(marks).toBeLessThanOrEqual(42);
  });

  it("of output that is no longer retained is an explicit gap before the terminal event (V1)", async () => {
    const grant = await f.running(worker);
    await f.ledger.tasks.append(grant, 2, [log("a"), log("b")]);
    await f.finish(grant);
    await f.redis.del(`${f.root}:task:default:${grant.task_id}:logs`);

    const reader = reading(grant);
    await reader.done;

    expect(reader.items.map((item) => ("sequence" in item ? item.sequence : item))).toEqual([
      ...[1, 2],
      { kind: "gap", from: 3, to: 4 },
      5,
    ]);
  });

  it("of everything is one gap, and the stream ends (V1)", async () => {
    const grant = await f.running(worker);
    await f.finish(grant);
    await f.redis.del(`${f.root}:task:default:${grant.task_id}:events`);

    const reader = reading(grant, 1);
    await reader.done;

    expect(reader.items).toEqual([{ kind: "gap", from: 2, to: 3 }]);
  });
});

describe("when Redis goes away", () => {
  it("a reader survives a kill and a restart, and gets every event once (V1)", async () => {
    const server = await startPrivateRedis({ settings: { appendfsync: "always" } });
    const own = await openFixture({ url: server.url, fail_fast_ms: 500 });
    try {
      const host = await own.register();
      const grant = await own.running(host);
      const reader = reading(grant, 0, own.ledger);
      await waitFor(() => reader.items.length === 2, { bound_ms: 3_000, what: "two events" });

      await server.kill();
      await expect(own.ledger.tasks.append(grant, 2, [log("lost")])).rejects.toMatchObject({
        code: "LEDGER_UNAVAILABLE",
      });
      await server.restart();
      const patient = own.another();
      await patient.boots.beat({ ...host, counter: 1, held: [], fence_seen: null, engine_healthy: true });
      const { sequence } = (await patient.tasks.append(grant, 2, [log("a"), log("b")])) as { sequence: number };
      await patient.tasks.settle(grant, outcomeOf(grant));
      await reader.done;

      expect(reader.sequences()).toEqual(upTo(sequence + 1));
    } finally {
      await own.close();
      await server.stop();
    }
  });
});
