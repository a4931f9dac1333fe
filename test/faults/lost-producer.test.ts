/** A producer that dies between the ledger's record and the queue's job. */
import { join } from "node:path";
import { drawTaskId, workspaceIdSchema } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { PREFIX, QUEUE_PREFIX } from "./lab/fleet.js";
import { startProcess } from "./lab/processes.js";
import { holdReply, holdRequest } from "./lab/proxy.js";
import { shell, times, useFleet } from "./lab/use-fleet.js";

const PROGRAM = join(import.meta.dirname, "lab", "producer-program.mjs");
const HEALED_WITHIN_MS = 10_000;
const RUNS = times(2, 100);

describe("a producer killed between record and queue", () => {
  const fleet = useFleet({ workers: 1 });

  it.each(["before", "after"])(
    "%s its job was added: the task runs all the same, once (T1, T2)",
    { timeout: RUNS * 30_000 },
    async (when) => {
      for (let n = 0; n < RUNS; n += 1) {
        const hold = when === "before" ? holdRequest() : holdReply();
        const rule = fleet().producerLine.on({ script: /^bull:add/ }, hold);
        const task_id = drawTaskId();
        const task = { workspace_id: workspaceIdSchema.parse("default"), task_id };
        const request = JSON.stringify(shell("echo healed", { task_id }));
        const args = [PROGRAM, `redis://127.0.0.1:${fleet().producerLine.port}`, PREFIX, QUEUE_PREFIX, request];
        const call = fleet().history.nextCall();
        fleet().history.add({ kind: "call", call, op: "submit", task: `default.${task_id}`, body: request });
        const producer = await startProcess({ name: "producer", command: process.execPath, args });

        await rule.reached(10_000);
        await producer.kill();
        const killed_at = performance.now();
        rule.release();

        const outcome = await fleet().producer.outcome(task, 30_000);
        expect([outcome.status, outcome.stdout.text, outcome.attempt]).toEqual(["SUCCEEDED", "healed\n", 1]);
        expect(performance.now() - killed_at).toBeLessThan(HEALED_WITHIN_MS);
        expect(producer.lines).toEqual([]);
      }
    },
  );

  it("leaves nothing behind and no rule broken (C1, C2, V1, Q1)", async () => {
    await fleet().finish();
  });
});
