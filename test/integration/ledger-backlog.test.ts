/** What is accepted under the limits of a workspace and of the fleet, and what is refused, for now or for good. */
import type { ScopeView } from "@holdfast/contract";
import type { Grant } from "@holdfast/ledger";
import { describe, expect, it } from "vitest";
import { type LedgerFixture, outcomeOf, request, useFreshLedger, type Worker } from "./ledger-fixture.js";

const FROM_QUEUE = { queue: "tasks", job_id: null };
const ROOMY = { slots: 200, cpu_milli: 1_000_000, memory_mb: 1_000_000, pids: 100_000 };
let f: LedgerFixture;
let worker: Worker;

useFreshLedger(async (fixture) => {
  f = fixture;
  worker = await f.register({ limits: ROOMY });
});

type More = Parameters<LedgerFixture["accept"]>[0];

const accept = (more: More = {}) => f.accept(more);
const set: LedgerFixture["ledger"]["hosts"]["setLimits"] = (...args) => f.ledger.hosts.setLimits(...args);

async function view(scope: string, id: string): Promise<ScopeView | undefined> {
  const { scopes } = await f.ledger.hosts.limits(100);
  return scopes.find((found) => found.scope === scope && found.id === id);
}

async function end(grant: Grant): Promise<void> {
  await f.ledger.tasks.settle(grant, outcomeOf(grant));
  await f.ledger.tasks.release(grant);
}

async function refusal(more: More = {}) {
  const reply = await f.ledger.tasks.accept(request(more), FROM_QUEUE);
  if (reply.kind !== "refused") throw new Error(`not refused: ${reply.kind}`);
  return reply.error;
}

describe("what is accepted", () => {
  it.each([
    ["workspace", "default"],
    ["fleet", "all"],
  ] as const)(
    "is refused beyond the queued limit of the %s, and an existing task is found all the same (T2)",
    async (scope, id) => {
      await set(scope, id, { queued: 2 });
      const [first, second] = [await accept(), await accept()];

      expect(await refusal()).toMatchObject({
        ...{ code: "CAPACITY_EXHAUSTED", fault: "capacity", retryable: true, retry_after_ms: expect.any(Number) },
        evidence: { scope, limit: "queued", allowed: 2 },
      });
      expect(await f.ledger.tasks.accept(request({ task_id: first.task_id }), FROM_QUEUE)).toMatchObject({
        kind: "existing",
      });
      const grant = await f.granted(worker, first);
      const third = await accept();
      expect(await f.ledger.tasks.requeue(grant, "drain", false)).toMatchObject({ kind: "requeued" });
      expect((await view(scope, id))?.used.queued).toBe(3);
      for (const each of [first, second]) await f.ledger.tasks.cancel(each);
      expect((await view(scope, id))?.used.queued).toBe(1);
      await f.advance(3_600_000);
      await f.ledger.tasks.expireQueued(10);
      expect((await view(scope, id))?.used.queued).toBe(0);
      expect((await f.ledger.tasks.view(third))?.status).toBe("FAILED");
    },
  );

  it.each([
    ["workspace", "default"],
    ["fleet", "all"],
  ] as const)(
    "is refused beyond the pending bytes of the %s, to the byte, until an earlier one has ended",
    async (scope, id) => {
      const first = await accept();
      const size = (await view(scope, id))?.used.pending_bytes ?? 0;
      await set(scope, id, { pending_bytes: 2 * size - 1 });

      expect(await refusal()).toMatchObject({
        code: "CAPACITY_EXHAUSTED",
        evidence: { scope, limit: "pending_bytes", allowed: 2 * size - 1 },
      });
      await set(scope, id, { pending_bytes: 2 * size });
      const grant = await f.granted(worker, await accept());
      expect(await refusal()).toMatchObject({ code: "CAPACITY_EXHAUSTED" });
      await end(grant);
      await f.ledger.tasks.cancel(await accept());
      await f.ledger.tasks.cancel(first);
    },
  );

  it.each([
    ["workspace", "default", { cpu_milli: 999 }, "cpu_milli", 1_000],
    ["fleet", "all", { memory_mb: 895 }, "memory_mb", 896],
    ["workspace", "default", { pids: 129 }, "pids", 130],
    ["fleet", "all", { pending_bytes: 10 }, "pending_bytes", expect.any(Number)],
  ] as const)(
    "is refused for good where the %s %s allows no such task alone: %j",
    async (scope, id, limits, limit, asked) => {
      await set(scope, id, limits);

      const error = await refusal();

      expect(error).toMatchObject({ code: "RESOURCES_TOO_LARGE", fault: "policy", retryable: false });
      expect(error.evidence).toMatchObject({ scope, limit, allowed: Object.values(limits)[0], asked });
      await set(scope, id, { [limit]: null });
      await f.ledger.tasks.cancel(await accept());
    },
  );
});
