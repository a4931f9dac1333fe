/**
 * Boots that come and go by the hundred, retired and dead, with and without tasks in their queues: what is left of them
 * in Redis is their tombstones, each with its expiry (Q1). HOLDFAST_LONG=1 makes 10,000 boots.
 */
import type { BootId, HostId } from "@holdfast/contract";
import { bootQueue, census, type Delivery, type Grant, LOST_TAIL_MS } from "@holdfast/ledger";
import { openTaskQueue, type TaskQueue } from "@holdfast/queue";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { BootState } from "../../apps/worker/src/boot/boot-state.js";
import { sendBack } from "../../apps/worker/src/duties/own-queue.js";
import { recoveryDuty } from "../../apps/worker/src/duties/recovery.js";
import { bootStateOf, handClock } from "../../apps/worker/test/boot-state.js";
import { LEASE_MS, type LedgerFixture, LIMITS, openFixture, type Worker } from "./ledger-fixture.js";

const BOOTS = process.env["HOLDFAST_LONG"] === "1" ? 10_000 : 1_000;
const AT_ONCE = 20;
/** Of each batch: so many boots are sent a task, and so many of those die while they run it. */
const SENT = 10;
const RUNNING = 3;
const ONE_SLOT = { ...LIMITS, slots: 1 };
const DAY_MS = 24 * 3_600_000;
const SLEEP_MS = 3_600_000;

let f: LedgerFixture;
let queue: TaskQueue;
let keeper: Worker;
let keeper_grant: Grant;
let counter = 0;
let clock: ReturnType<typeof handClock>;
/** The keeper as its duties see it: it recovers all others, and is full. */
let state: BootState;
let recovery: ReturnType<typeof recoveryDuty>;

beforeEach(async () => {
  f = await openFixture();
  await f.setClock(Date.now());
  queue = openTaskQueue({ ledger: f.ledger, prefix: `${f.ledger.prefix}_q` });
  keeper = await f.register({ limits: ONE_SLOT });
  keeper_grant = await f.running(keeper);
  clock = handClock();
  state = { ...bootStateOf({ clock }), ...keeper, ledger: f.ledger, queue };
  recovery = recoveryDuty(state);
});
afterEach(async () => {
  const keys = await f.redis.keys(`${f.ledger.prefix}_q:*`);
  if (keys.length > 0) await f.redis.del(...keys);
  await queue.close();
  await f.close();
});

async function passes(ms: number): Promise<void> {
  await f.advance(ms);
  counter += 1;
  await f.ledger.boots.beat({ ...keeper, counter, held: [], fence_seen: null, engine_healthy: true });
}

/** One look and one pass of the keeper's recovery. */
async function recover(): Promise<void> {
  const now_ms = state.lease.now();
  state.lease.renewed(now_ms, LEASE_MS);
  state.sights.take({ sent_at_ms: now_ms, answered_at_ms: now_ms, sights: await f.ledger.boots.look() });
  await recovery.runOnce();
}

async function bury({ boot_id }: Worker): Promise<void> {
  expect(await f.ledger.boots.bury(boot_id, -1)).toMatchObject({ kind: "buried" });
}

/** As a worker that was told to end does. */
async function retire(worker: Worker): Promise<void> {
  await f.ledger.boots.drain(worker.boot_id);
  await sendBack({ ...state, ...worker });
  expect(await f.ledger.boots.retire(worker.boot_id)).toEqual({ kind: "retired" });
  await queue.removeBootQueue(worker.boot_id);
}

/** Sends a task to whichever boot has room; its job waits there, sleeps there, or was never added. */
async function send(at: number): Promise<Delivery> {
  const reply = await f.admit(keeper, await f.accept());
  if (reply.kind !== "elsewhere") throw new Error(`admit answered ${reply.kind}`);
  const { delivery } = reply;
  if (at % 3 === 0) await queue.deliver(delivery);
  if (at % 3 === 1) {
    const own = queue.openBootQueue(delivery.queue.replace("boot.", "") as BootId);
    await own.add("delivery", { at }, { jobId: delivery.job_id, delay: SLEEP_MS });
    await own.close();
  }
  return delivery;
}

async function batch(hosts: readonly HostId[]): Promise<Worker[]> {
  const boots = await Promise.all(hosts.map((host_id) => f.register({ host_id, limits: ONE_SLOT })));
  const sent: Delivery[] = [];
  for (let at = 0; at < SENT; at += 1) sent.push(await send(at));
  const toldOf = ({ boot_id }: Worker) => sent.find((delivery) => delivery.queue === bootQueue(boot_id));
  const busy = boots.filter(toldOf);
  expect(busy).toHaveLength(SENT);
  const grants: Grant[] = [];
  for (const each of busy.slice(0, RUNNING)) grants.push(await f.granted(each, toldOf(each) as Delivery));
  const dying = [...busy.slice(0, RUNNING + 3), ...boots.filter((each) => !toldOf(each)).slice(0, 5)];

  await Promise.all(boots.filter((each) => !dying.includes(each)).map(retire));
  await passes(LEASE_MS);
  await Promise.all(dying.map(bury));
  await passes(LOST_TAIL_MS);
  await recover();
  for (const delivery of sent) {
    expect(await f.ledger.tasks.view(delivery)).toMatchObject({ status: "PENDING", delivery: 3 });
    expect(await f.ledger.tasks.cancel(delivery)).toMatchObject({ kind: "cancelled" });
  }
  // Who serves the dead boot's engine proves its sandboxes gone.
  for (const { boot_id, sandbox_id } of grants) {
    const freed = await f.ledger.boots.free(boot_id, { kind: "proof", sandbox_ids: [sandbox_id], all_gone: false });
    expect(freed.left).toBe(0);
  }
  return boots;
}

const keysOf = (start: string) => f.redis.keys(`${f.ledger.prefix}_q:${start}*`);

it("leave their tombstones with an expiry and nothing else, whatever was in their queues (Q1, C2, T2)", async () => {
  const boots = await Promise.all(Array.from({ length: AT_ONCE }, () => f.register({ limits: ONE_SLOT })));
  await Promise.all(boots.map(retire));
  const host_ids = boots.map(({ host_id }) => host_id);
  while (boots.length < BOOTS) boots.push(...(await batch(host_ids)));

  expect(await keysOf("boot.")).toEqual([]);
  const lives = await Promise.all(boots.map((boot) => f.tombstoneLife(boot)));
  expect(lives.filter((life) => life <= 0 || life > DAY_MS)).toEqual([]);
  await f.finish(keeper_grant);
  await retire(keeper);
  const { keys: _, ...left } = await census(f.ledger);
  expect(Object.entries(left).filter(([, found]) => found.length > 0)).toEqual([]);
  const named = await f.redis.keys(`${f.root}:boot:*`);
  expect(named.toSorted()).toEqual([...boots, keeper].map(({ boot_id }) => `${f.root}:boot:${boot_id}`).toSorted());
  expect(await f.redis.keys(`${f.root}:reservation:*`)).toEqual([]);

  // What their expiry leaves is forgotten at the next start of a worker there.
  await Promise.all(boots.map(({ boot_id }) => f.redis.del(`${f.root}:boot:${boot_id}`)));
  const next = await f.register({ host_id: host_ids[0] as HostId, limits: null });
  expect(await f.redis.smembers(`${f.root}:host:${next.host_id}:boots`)).toEqual([next.boot_id]);
  expect(await f.redis.exists(`${f.root}:host:${next.host_id}:dead`)).toBe(0);
  await retire(next);
}, 600_000);

it("a dead boot's queue that somebody late writes to is gone again, as long as its tombstone lives (T2)", async () => {
  const dead = await f.register({ limits: ONE_SLOT });
  const sent = await send(0);
  await passes(LEASE_MS);
  await bury(dead);
  await passes(LOST_TAIL_MS);
  await recover();
  expect(await keysOf("boot.")).toEqual([]);
  expect(await f.ledger.tasks.view(sent)).toMatchObject({ delivery: 3 });

  for (const pause_ms of [5_000, 60_000, 60_000]) {
    // One that read the route before the boot died: its delivery is stale, and its promotion finds nothing to wake.
    await queue.deliver(sent);
    await queue.promote([{ ...sent }]);
    expect(await keysOf("boot.")).not.toEqual([]);
    await passes(pause_ms);
    clock.pass(pause_ms - 1);
    await recover();
    expect(await keysOf("boot."), "not looked at again before its time").not.toEqual([]);
    clock.pass(1);
    await recover();
    expect(await keysOf("boot.")).toEqual([]);
    expect(await f.ledger.tasks.view(sent), "recovery goes by the ledger").toMatchObject({ delivery: 3 });
  }
});
