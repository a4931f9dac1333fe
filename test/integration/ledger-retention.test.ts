/** Records by number: which go, in which order, and which stay whatever the number (Q1, T1, T2). */
import { RETENTION_DEFAULTS, type TaskId, type TaskName, type WorkspaceId } from "@holdfast/contract";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type LedgerFixture, openFixture, outcomeOf, request, type Worker } from "./ledger-fixture.js";

const LONG = process.env["HOLDFAST_LONG"] === "1";
const TASKS = LONG ? 10_000 : 600;
const KEPT = LONG ? 500 : 50;
const LOTS = 10;
/** A record, its events and output: each task that is kept has no more keys. */
const KEYS_A_RECORD = 3;
const HOUR_MS = 3_600_000;

let f: LedgerFixture;
let worker: Worker;
beforeEach(async () => {
  f = await openFixture();
  await f.setClock(Date.now());
  await f.ledger.fleet(null);
  worker = await f.register();
});
afterEach(async () => {
  await f.expectQuiet();
  await f.close();
});

async function retainAll(): Promise<number> {
  let removed = 0;
  for (let cursor: string | null = null, first = true; first || cursor !== null; first = false) {
    const step = await f.ledger.retention.retain(cursor);
    removed += step.removed;
    cursor = step.left > 0 ? (cursor ?? "0") : step.cursor;
  }
  return removed;
}

async function ended(more = {}): Promise<string> {
  const task = await f.accept(more);
  await f.ledger.tasks.cancel(task);
  await f.advance(1);
  return task.task_id;
}

const nameOf = (task_id: string): TaskName => ({
  workspace_id: "default" as WorkspaceId,
  task_id: task_id as TaskId,
});

const there = (ids: readonly string[]) =>
  Promise.all(ids.map(async (task_id) => (await f.ledger.tasks.view(nameOf(task_id))) !== null));

it("what ended first goes first, whatever was accepted first, with all that is kept of it (Q1)", async () => {
  await f.ledger.retention.set({ records_max: 2, records_min_ms: 0 });
  const late = await f.accept();
  const ids = [await ended(), await ended(), await ended()];
  await f.ledger.tasks.cancel(late);
  await f.advance(1);

  expect(await f.ledger.retention.retain(null, true)).toEqual({ seen: 4, removed: 0, left: 2, cursor: null });
  expect(await retainAll()).toBe(2);

  expect(await there([...ids, late.task_id])).toEqual([false, false, true, true]);
  const gone = await f.redis.keys(`${f.root}:task:default:${ids[0]}*`);
  expect(gone).toEqual([]);
  expect((await f.ledger.tasks.list({ workspace_id: "default", cursor: null, limit: 10 })).tasks).toHaveLength(2);
});

it("none goes that has not ended, whose sandbox is not proven gone, or whose name was used again (T1, T2)", async () => {
  await f.ledger.retention.set({ records_max: 1, records_min_ms: 0 });
  const running = await f.running(worker);
  const draining = await f.running(worker);
  await f.ledger.tasks.settle(draining, outcomeOf(draining));
  const again = await ended({ task_id: "again" });
  await f.redis.del(`${f.root}:task:default:${again}`);
  await f.accept({ task_id: again });
  await ended();
  await f.advance(1);

  expect(await retainAll()).toBe(0);

  expect(await there([running.task_id, draining.task_id, again])).toEqual([true, true, true]);
  await f.ledger.tasks.release(draining);
  await f.finish(running);
  await f.ledger.tasks.cancel(nameOf(again));
});

it("none goes for its number before its least age; that of a plain producer's job not for an hour after (T2)", async () => {
  await f.ledger.retention.set({ records_max: 1, records_min_ms: 60_000 });
  const ours = await ended();
  const plain = request();
  await f.ledger.tasks.accept(plain, { queue: "tasks", job_id: "7" });
  await f.ledger.tasks.cancel(nameOf(plain.task_id ?? ""));
  await f.advance(1);
  await ended();
  await ended();

  expect(await retainAll()).toBe(0);
  await f.advance(60_000);
  expect(await retainAll()).toBe(3);
  expect(await there([ours, plain.task_id ?? ""])).toEqual([false, true]);
  await f.ledger.retention.set({ records_max: 1, records_min_ms: 0 });
  await f.advance(HOUR_MS);
  await ended();
  await ended();
  expect(await retainAll()).toBe(2);
  expect(await there([plain.task_id ?? ""])).toEqual([false]);
});

it("settings are facts of the fleet: as designed until set, kept by those who set others, refused out of bounds", async () => {
  expect(await f.ledger.retention.settings()).toEqual(RETENTION_DEFAULTS);
  await f.ledger.retention.set({ record_ms: 2 * HOUR_MS });
  const all = await f.another().retention.set({ output_ms: 3 * HOUR_MS });
  expect(all).toEqual({ ...RETENTION_DEFAULTS, record_ms: 2 * HOUR_MS, output_ms: 3 * HOUR_MS });
  await expect(f.ledger.retention.set({ jobs_max: 1_001 })).rejects.toThrow();

  const grant = await f.running(worker);
  await f.finish(grant);

  const key = `${f.root}:task:default:${grant.task_id}`;
  const about = async (name: string) => Math.round((await f.redis.pttl(name)) / 60_000) * 60_000;
  expect(await about(key)).toBe(2 * HOUR_MS);
  expect(await about(`${key}:events`), "longer than a day where the fleet wants it").toBe(2 * HOUR_MS);
});

it(`keys stay as many over ${TASKS} tasks as ${KEPT} records have (Q1)`, {
  timeout: LONG ? 600_000 : 60_000,
}, async () => {
  await f.ledger.retention.set({ records_max: KEPT, records_min_ms: 0 });
  const counts: number[] = [];
  for (let lot = 0; lot < LOTS; lot += 1) {
    for (let n = 0; n < TASKS / LOTS; n += 1) {
      const grant = await f.running(worker, { workspace_id: n % 2 === 0 ? "default" : "other" });
      await f.finish(grant);
    }
    await f.advance(1);
    await retainAll();
    const keys = await f.redis.keys(`${f.root}:*`);
    counts.push(keys.filter((key) => /:(task|index|ended):/.test(key)).length);
  }

  const most = 2 * (KEPT * KEYS_A_RECORD + 2);
  expect(counts.filter((count) => count > most)).toEqual([]);
  expect(counts.at(-1)).toBe(counts.at(-2));
});
