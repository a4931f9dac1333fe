/** O-27: rolling restarts. A worker that is told to stop takes nothing new, delivers, hands back, and ends. */
import { afterEach, describe, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { openRecoveryBench, type RecoveryBench } from "./recovery-bench.js";

const WAITING = 20;
const ENDS_AFTER_MS = 5_000;
/** From a worker's end until another has its task. */
const TAKEN_OVER_MS = 30_000;

let bench: RecoveryBench;
afterEach(() => bench.close());

describe("a worker that gets SIGTERM", () => {
  it(`with a task that ends within the grace and ${WAITING} waiting: takes none, delivers, and is gone 5 s later (O-27, T2)`, async () => {
    bench = await openRecoveryBench({ HOLDFAST_SLOTS: "1" });
    const worker = await bench.worker({ HOLDFAST_DRAIN_GRACE_SECONDS: "30" });
    const running = await bench.start("sleep 4; echo done");
    const waiting = await Promise.all(Array.from({ length: WAITING }, (_, n) => bench.submit(`echo ${n}`)));

    await worker.signal("SIGTERM");
    const outcome = await bench.client.outcome(running);
    const delivered_at = performance.now();
    const code = await worker.exited;
    const took_ms = performance.now() - delivered_at;

    expect(outcome).toMatchObject({ status: "SUCCEEDED", attempt: 1, stdout: { text: "done\n" } });
    expect(code).toBe(0);
    expect(took_ms).toBeLessThan(ENDS_AFTER_MS);
    for (const task of waiting)
      expect(await bench.client.status(task)).toMatchObject({ status: "PENDING", attempt: 0 });

    await bench.worker({ HOLDFAST_SLOTS: "6" });
    for (const [n, task] of waiting.entries()) {
      const ended = { status: "SUCCEEDED", attempt: 1, stdout: { text: `${n}\n` } };
      expect(await bench.client.outcome(task)).toMatchObject(ended);
    }
  }, 120_000);

  it("twice in a row with a task that outlasts the grace: stopped and run elsewhere each time, and no attempt counts (O-27, E4, T2)", async () => {
    bench = await openRecoveryBench({ HOLDFAST_SLOTS: "2", HOLDFAST_DRAIN_GRACE_SECONDS: "1" });
    let workers = [await bench.worker(), await bench.worker(), await bench.worker()];
    const task = await bench.start("n=0; while [ $n -lt 50 ]; do n=$((n+1)); sleep 0.2; done; echo whole", {
      attempts_max: 1,
    });
    const holder = async () => {
      const held = (await bench.client.sandboxes()).find(({ state }) => state === "active");
      return workers.find(({ boot_id }) => boot_id === held?.boot_id);
    };

    for (let attempt = 1; attempt <= 2; attempt += 1) {
      const wait = { bound_ms: TAKEN_OVER_MS, what: `attempt ${attempt} runs` };
      const stopped = await waitFor(holder, wait);
      workers = workers.filter((worker) => worker !== stopped);
      await stopped.signal("SIGTERM");
      expect(await stopped.exited).toBe(0);
      expect(await bench.containersOf(stopped.boot_id)).toEqual([]);
    }

    expect(await bench.client.outcome(task)).toMatchObject({
      status: "SUCCEEDED",
      attempt: 3,
      stdout: { text: "whole\n" },
    });
  }, 120_000);
});
