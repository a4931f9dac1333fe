/** 64 clients race for the room of a workspace, of the fleet and of a host: never more than a limit (C1). */
import { drawOwnerToken, drawSandboxId } from "@holdfast/contract";
import { type AdmitReply, census, type Delivery, type Grant, type Ledger } from "@holdfast/ledger";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PrivateRedis, startPrivateRedis } from "../support/private-redis.js";
import { waitFor } from "../support/wait-for.js";
import { type LedgerFixture, openFixture, outcomeOf, request, type Worker } from "./ledger-fixture.js";

const CLIENTS = 64;
const TASKS_EACH = 5;
const HOST = { slots: 14, cpu_milli: 24_000, memory_mb: 1_000_000, pids: 100_000 };
const LIMITS = {
  "workspace:tight": { slots: 3 },
  "workspace:narrow": { cpu_milli: 5_000 },
  "fleet:all": { slots: 10 },
};
const WORKSPACES = ["tight", "narrow", "free"];

let server: PrivateRedis;
let f: LedgerFixture;
let worker: Worker;

beforeAll(async () => {
  server = await startPrivateRedis();
  f = await openFixture({ url: server.url });
  await f.setClock(Date.now());
  worker = await f.register({ limits: HOST });
  for (const [name, limits] of Object.entries(LIMITS)) {
    const [scope, id] = name.split(":") as ["workspace" | "fleet", string];
    await f.ledger.hosts.setLimits(scope, id, limits);
  }
});
afterAll(async () => {
  await f.close();
  await server.stop();
});

/** Which waiters were named since they last looked. */
const woken = new Set<string>();
const over: string[] = [];

/** What the ledger counts at this moment, read by one command a scope. */
async function sample(ledger: Ledger): Promise<void> {
  const { scopes } = await ledger.hosts.limits(10);
  for (const { scope, id, limits, used } of scopes) {
    for (const key of ["slots", "cpu_milli"] as const) {
      if ((used[key] ?? 0) > (limits[key] ?? Number.POSITIVE_INFINITY)) over.push(`${scope}:${id} ${key} ${used[key]}`);
    }
  }
}

const wake = (promotions: readonly { task_id: string }[]) => {
  for (const { task_id } of promotions) woken.add(task_id);
};

/** As the queue would: a parked task looks again when it was named. The duty's look heals a wake-up between both. */
async function granted(ledger: Ledger, delivery: Delivery): Promise<Grant> {
  return waitFor(
    async () => {
      const reply = await admit(ledger, delivery);
      if (reply.kind === "granted") return reply.grant;
      expect(reply.kind).toBe("parked");
      await waitFor(
        async () => {
          if (woken.delete(delivery.task_id)) return true;
          wake(await ledger.tasks.headsWithRoom());
          return woken.delete(delivery.task_id);
        },
        { bound_ms: 60_000, what: `${delivery.task_id} is named`, look_ms: 50 },
      );
      return null;
    },
    { bound_ms: 60_000, what: `${delivery.task_id} is granted`, look_ms: 1 },
  );
}

function admit(ledger: Ledger, delivery: Delivery): Promise<AdmitReply> {
  return ledger.tasks.admit({ ...delivery, ...worker, sandbox_id: drawSandboxId(), owner_token: drawOwnerToken() });
}

/** Every second task is handed back once and then cancelled; the others run to their end. */
async function client(ledger: Ledger, number: number): Promise<void> {
  for (let n = 0; n < TASKS_EACH; n += 1) {
    const workspace_id = WORKSPACES[(number + n) % WORKSPACES.length] ?? "free";
    const task = request({ workspace_id, resources: { cpu: 1 + (n % 2) } });
    const reply = await ledger.tasks.accept(task, { queue: "tasks", job_id: null });
    if (reply.kind !== "accepted") throw new Error(reply.kind);
    const grant = await granted(ledger, reply.delivery);
    await sample(ledger);
    const ended = n % 2 === 1 ? await ledger.tasks.requeue(grant, "drain", false) : await settle(ledger, grant);
    if (ended.kind === "fenced") throw new Error(ended.kind);
    wake(ended.promotions);
    wake((await ledger.tasks.release(grant)).promotions);
    const cancelled = ended.kind === "requeued" ? await ledger.tasks.cancel(ended.delivery) : null;
    if (cancelled?.kind === "cancelled") wake(cancelled.promotions);
  }
}

const settle = (ledger: Ledger, grant: Grant) => ledger.tasks.settle(grant, outcomeOf(grant));

describe("64 racing clients", () => {
  it("never hold more than a limit of workspace, fleet or host, all get their turn, and nothing is left (C1, T2, Q1)", async () => {
    const ledgers = Array.from({ length: CLIENTS }, () => f.another());

    await Promise.all(ledgers.map(client));

    expect(over).toEqual([]);
    const { keys: _, ...left } = await census(f.ledger);
    expect(Object.entries(left).filter(([, found]) => found.length > 0)).toEqual([]);
  });
});
