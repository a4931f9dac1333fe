/** However many wait, and for whatever, one script holds Redis up with a bounded number of commands. */
import type { TaskRequestInput } from "@holdfast/contract";
import type { Delivery } from "@holdfast/ledger";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type PrivateRedis, startPrivateRedis } from "../support/private-redis.js";
import { DIGEST, IMAGE, type LedgerFixture, LIMITS, openFixture, type Worker } from "./ledger-fixture.js";

const [LAB, GPU, OTHER] = [IMAGE, "gpu:bb", "other:bb"];
const HOSTS = 20;
/** As deep as lists are looked at. */
const WAITERS = 64;
/** About twice what the dearest takes. */
const COMMANDS_MAX = 1_100;

let own: PrivateRedis;
let f: LedgerFixture;
let gpu: Worker;
let other: Worker;
let lab: Worker;

beforeEach(async () => {
  // The counts are the server's: nobody else may ask it anything.
  own = await startPrivateRedis();
  f = await openFixture({ url: own.url });
  await f.setClock(Date.now());
  gpu = await offering(GPU);
  other = await offering(OTHER);
  for (let n = 1; n < HOSTS; n += 1) await offering(LAB);
  lab = await offering(LAB);
});

afterEach(async () => {
  await f.expectCounted();
  await f.close();
  await own.stop();
});

function offering(image: string): Promise<Worker> {
  return f.register({ images: [{ image, digest: DIGEST }], limits: LIMITS });
}

async function waiting(count: number, by: Worker, more: Partial<TaskRequestInput>): Promise<Delivery[]> {
  await f.advance(1);
  const all = await Promise.all(Array.from({ length: count }, () => f.accept(more)));
  for (const delivery of all) expect(await f.admit(by, delivery)).toMatchObject({ kind: "parked" });
  return all;
}

/** Waits for a host that drains, behind as many of its workspace that a limit, lowered since, passes over. */
async function tenant(workspace_id: string, small: number): Promise<Delivery[]> {
  const large = { cpu: 1, memory_mb: 3_000, disk_mb: 256, pids_limit: 64 };
  await f.advance(1);
  const all = await Promise.all(
    Array.from({ length: WAITERS }, () => f.accept({ workspace_id, image: GPU, resources: large })),
  );
  await f.ledger.hosts.setLimits("workspace", workspace_id, { memory_mb: 2_000 });
  for (const delivery of all)
    expect(await f.admit(other, delivery)).toMatchObject({ kind: "parked", scope: "workspace" });
  return waiting(small, other, { workspace_id, image: GPU });
}

/** Commands that Redis ran inside of the one script that `call` sends. */
async function commands<T>(call: () => Promise<T>): Promise<{ reply: T; count: number }> {
  await f.redis.config("RESETSTAT");
  const reply = await call();
  const lines = [...(await f.redis.info("commandstats")).matchAll(/^cmdstat_([a-z|_]+):calls=(\d+)/gm)];
  const inside = lines.filter(([, name = ""]) => !/^(evalsha|config|info)/.test(name));
  return { reply, count: inside.reduce((sum, [, , calls]) => sum + Number(calls), 0) };
}

async function expectBounded(last: Delivery | undefined): Promise<void> {
  if (!last) throw new Error("none waits");
  const bystander = () => f.advance(1).then(() => f.accept({ workspace_id: "bystander", image: LAB }));
  const [travels, stays, queued] = [await bystander(), await bystander(), await bystander()];
  const sent = await commands(() => f.admit(other, travels));
  const granted = await commands(() => f.admit(lab, stays));
  const heads = await commands(() => f.ledger.tasks.headsWithRoom());
  const looks = await commands(() => f.ledger.tasks.look(last));
  const shown = await commands(() => f.ledger.tasks.status(queued));
  const counts = { sent, granted, heads, looks, shown };

  expect([sent.reply.kind, granted.reply.kind]).toEqual(["elsewhere", "granted"]);
  for (const [name, { count }] of Object.entries(counts)) expect(count, name).toBeLessThanOrEqual(COMMANDS_MAX);
}

describe("the commands of one script are bounded", () => {
  it("where many wait for a host that is full, and others have room", async () => {
    for (let n = 0; n < LIMITS.slots; n += 1) await f.running(gpu, { image: GPU });
    const waits = await waiting(WAITERS, gpu, { image: GPU });

    await expectBounded(waits.at(-1));
  });

  it("where one workspace has many that are passed over, and many that wait for a host which drains", async () => {
    await f.ledger.hosts.setDraining(gpu.host_id, true);
    const waits = await tenant("tenant", WAITERS);

    await expectBounded(waits.at(-1));
  });

  it("where many workspaces do, and what it has not looked at has its turn later (T2)", async () => {
    await f.ledger.hosts.setDraining(gpu.host_id, true);
    const small = [];
    for (let n = 0; n < 6; n += 1) small.push(...(await tenant(`tenant_${n}`, 2)));

    await expectBounded(small.at(-1));

    await f.ledger.hosts.setDraining(gpu.host_id, false);
    const waits = new Map(small.map((delivery) => [delivery.task_id, delivery]));
    for (let round = 0; round < 60 && waits.size > 0; round += 1) {
      await f.advance(1);
      for (const { task_id } of await f.ledger.tasks.headsWithRoom()) {
        const delivery = waits.get(task_id);
        if (!delivery) throw new Error("none but these can have room");
        await f.finish(await f.granted(gpu, delivery));
        waits.delete(task_id);
      }
    }
    expect([...waits.keys()]).toEqual([]);
  });
});
