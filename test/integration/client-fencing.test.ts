import { createHash } from "node:crypto";
import { drawOwnerToken, fenceSchema } from "@holdfast/contract";
import type { Grant } from "@holdfast/ledger";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PrivateRedis, startPrivateRedis } from "../support/private-redis.js";
import { type ClientBench, logOf, openClientBench, outcomeFor, REQUEST } from "./client-bench.js";

let redis: PrivateRedis;
let bench: ClientBench;

beforeAll(async () => {
  redis = await startPrivateRedis();
  bench = await openClientBench(redis.url);
});
afterAll(async () => {
  await bench.close();
  await redis.stop();
});

/** Over all keys but those of boots, whose beats go on, and over their values without the time they have left. */
async function imageOfKeys(): Promise<string> {
  const connection = bench.ledger.connection("image");
  const digest = createHash("sha256");
  for (const name of (await connection.keys("*")).filter((key) => !key.includes("boot")).sort()) {
    digest.update(name).update((await connection.dumpBuffer(name)) ?? "");
  }
  connection.disconnect();
  return digest.digest("hex");
}

describe("a stale holder (AT-G2, L2, G1)", () => {
  it("changes no byte of a task that was granted anew, whichever call it makes", async () => {
    const task = await bench.client.submit({ ...REQUEST, task_id: "fenced" });
    const old = await bench.grant(task);
    const requeued = await bench.ledger.tasks.requeue(old, "test", true);
    if (requeued.kind !== "requeued") throw new Error(requeued.kind);
    await bench.ledger.tasks.release(old);
    const held = await bench.grant(task, requeued.delivery.delivery);
    await bench.ledger.tasks.append(held, held.sequence + 1, [logOf("mine")]);
    const strangers: Grant[] = [
      old,
      { ...held, owner_token: drawOwnerToken() },
      { ...held, generation: held.generation + 1 },
      { ...held, fence: old.fence },
      { ...held, fence: fenceSchema.parse(`${held.fence}0`) },
    ];
    const before = await imageOfKeys();

    for (const stranger of strangers) {
      const replies = [
        await bench.ledger.tasks.activate(stranger, stranger.sandbox_id),
        await bench.ledger.tasks.append(stranger, held.sequence + 2, [logOf("not mine")]),
        await bench.ledger.tasks.settle(stranger, outcomeFor(stranger)),
        await bench.ledger.tasks.requeue(stranger, "test", true),
      ];
      expect(replies.map(({ kind }) => kind)).toEqual(["fenced", "fenced", "fenced", "fenced"]);
    }

    expect(await imageOfKeys()).toBe(before);
    await bench.settle(held);
  });

  it("repeats a settle, a cancel or an accept of the past without a trace (T1)", async () => {
    const request = { ...REQUEST, task_id: "replayed" };
    const task = await bench.client.submit(request);
    const held = await bench.grant(task);
    await bench.settle(held);
    const before = await imageOfKeys();
    const outcome = await bench.client.outcome(task);

    await bench.ledger.tasks.settle(held, outcomeFor(held, { exit_code: 9, status: "FAILED" }));
    await bench.ledger.tasks.release(held);
    await bench.client.cancel(task);
    await bench.client.submit(request);
    expect((await bench.admit(task)).kind).toBe("done");

    expect(await imageOfKeys()).toBe(before);
    expect(await bench.client.outcome(task)).toEqual(outcome);
  });
});
