/** Who shares an engine: two workers of one host share its slots, two fleets share nothing. */
import { afterEach, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { openRecoveryBench, type RecoveryBench } from "./recovery-bench.js";

const open: RecoveryBench[] = [];
afterEach(async () => {
  for (const bench of open.splice(0)) await bench.close();
});

async function setup(env: Readonly<Record<string, string>>): Promise<RecoveryBench> {
  const bench = await openRecoveryBench(env);
  open.push(bench);
  return bench;
}

it("two workers of one host never use more than its slots, and both work (C1)", async () => {
  const slots = 3;
  const bench = await setup({ HOLDFAST_SLOTS: String(slots) });
  const workers = [await bench.worker(), await bench.worker()];
  expect(await bench.client.hosts()).toHaveLength(1);
  const tasks = await Promise.all(Array.from({ length: 18 }, (_, n) => bench.submit(`sleep 0.5; echo ${n}`)));
  const seen = { containers: 0, reserved: 0, boots: new Set<string>() };
  const look = async (): Promise<boolean> => {
    const alive = await bench.containers();
    seen.containers = Math.max(seen.containers, alive.length);
    for (const { labels } of alive) seen.boots.add(labels["holdfast.boot"] ?? "");
    seen.reserved = Math.max(seen.reserved, await bench.reserved());
    return (await bench.client.list()).tasks.every(({ status }) => status === "SUCCEEDED");
  };

  await waitFor(look, { bound_ms: 60_000, what: "all tasks have succeeded" });

  expect(seen.reserved).toBe(slots);
  expect(seen.containers).toBeLessThanOrEqual(slots);
  expect(seen.boots).toEqual(new Set(workers.map(({ boot_id }) => boot_id)));
  for (const [n, task] of tasks.entries()) {
    expect(await bench.client.outcome(task)).toMatchObject({ attempt: 1, stdout: { text: `${n}\n` } });
  }
}, 90_000);

it("two fleets on one engine: the death of a worker of one touches nothing of the other (E2, L4)", async () => {
  const [ours, theirs] = [await setup({ HOLDFAST_SLOTS: "2" }), await setup({ HOLDFAST_SLOTS: "2" })];
  const [a, b] = [await ours.worker(), await theirs.worker()];
  const dies = await ours.start("sleep 300", { attempts_max: 1 });
  const lives = await theirs.start("echo untouched; sleep 300");
  const [before] = await theirs.containersOf(b.boot_id);

  await a.signal("SIGKILL");
  await ours.worker();

  expect(await ours.client.outcome(dies)).toMatchObject({ error: { code: "ATTEMPTS_EXHAUSTED" } });
  expect(await ours.containersOf(a.boot_id)).toEqual([]);
  expect(await theirs.containersOf(b.boot_id)).toEqual([before]);
  expect((await theirs.client.hosts()).flatMap(({ boots }) => boots).map(({ state }) => state)).toEqual(["LIVE"]);
  await theirs.client.cancel(lives);
  const ended = { status: "CANCELLED", attempt: 1, stdout: { text: "untouched\n" } };
  expect(await theirs.client.outcome(lives)).toMatchObject(ended);
}, 90_000);
