/** A ledger of a test file's own, with a clock that the test moves: expiry at exactly the limit needs no waiting. */
import { randomBytes } from "node:crypto";
import {
  type Amount,
  type BootId,
  drawBootId,
  drawHostId,
  drawOwnerToken,
  drawSandboxId,
  drawTaskId,
  emptyStream,
  type HostId,
  type Outcome,
  type TaskRequest,
  type TaskRequestInput,
  taskRequestSchema,
} from "@holdfast/contract";
import {
  type AdmitReply,
  type BootSight,
  census,
  type Delivery,
  type Grant,
  type Ledger,
  type LedgerOptions,
} from "@holdfast/ledger";
import type { Redis } from "ioredis";
import { afterEach, beforeEach, expect } from "vitest";
import { composeLedger } from "../../packages/ledger/src/open-ledger.js";
import { loadScripts } from "../../packages/ledger/src/script-loader.js";
import { type PrivateRedis, startPrivateRedis } from "../support/private-redis.js";

export const LEASE_MS = 8_000;
export const IMAGE = "lab:bb";
export const DIGEST = "sha256:aa";
export const LIMITS: Amount = { slots: 2, cpu_milli: 4_000, memory_mb: 4_096, pids: 1_000 };

/** Outside the ledger's own keys, so that no census sees it. Without it Redis TIME rules. */
const CLOCK = `
local now_us = redis.call('GET', KEYS[1] .. '-clock')
if not now_us then
  local clock_time = redis.call('TIME')
  now_us = clock_time[1] .. string.rep('0', 6 - #clock_time[2]) .. clock_time[2]
end
local now_ms = tonumber(string.sub(now_us, 1, -4))
`;

export interface LedgerFixture {
  readonly ledger: Ledger;
  readonly redis: Redis;
  readonly root: string;
  readonly url: string;
  /** Freezes the scripts' clock at this millisecond of Redis time. */
  setClock(ms: number): Promise<void>;
  advance(ms: number): Promise<void>;
  now(): number;
  another(options?: Partial<LedgerOptions>): Ledger;
  register(more?: Partial<Parameters<Ledger["boots"]["register"]>[0]>): Promise<Worker>;
  accept(more?: Partial<TaskRequestInput>): Promise<Delivery>;
  admit(worker: Worker, delivery: Delivery): Promise<AdmitReply>;
  granted(worker: Worker, delivery: Delivery): Promise<Grant>;
  running(worker: Worker, more?: Partial<TaskRequestInput>): Promise<Grant>;
  /** Ends a running task, so that the file can prove Q1. */
  finish(grant: Grant): Promise<void>;
  sight(of: Worker): Promise<BootSight>;
  /** Buried at the first moment at which anybody may. */
  dies(of: Worker): Promise<void>;
  /** Milliseconds until the boot's record goes; -1 where it has no expiry. */
  tombstoneLife(of: Worker): Promise<number>;
  /** Bytes of every key, to prove that a call changed nothing. */
  digest(): Promise<string>;
  /** C1, C2 and the agreement of all lists with the records, at any moment. */
  expectCounted(): Promise<void>;
  /** Q1: nothing is left that should have ended. */
  expectQuiet(): Promise<void>;
  close(): Promise<void>;
}

export interface Worker {
  readonly boot_id: BootId;
  readonly host_id: HostId;
}

export function request(more: Partial<TaskRequestInput> = {}): TaskRequest {
  return taskRequestSchema.parse({ task_id: drawTaskId(), image: IMAGE, command: ["true"], ...more });
}

export function outcomeOf(grant: Grant, more: Partial<Outcome> = {}): Outcome {
  return {
    workspace_id: grant.workspace_id,
    task_id: grant.task_id,
    status: "SUCCEEDED",
    ran: true,
    warm: false,
    exit_code: 0,
    signal: null,
    attempt: grant.attempt,
    host_id: grant.host_id,
    image: IMAGE,
    image_digest: DIGEST,
    generation: grant.generation,
    state_lost: false,
    isolation: "runc",
    stdout: emptyStream(),
    stderr: emptyStream(),
    limits: null,
    timing: { queued_ms: 1, setup_ms: 1, run_ms: 1, harvest_ms: 0, total_ms: 3 },
    usage: { cpu_ms: null, memory_peak_bytes: null, killed_processes: 0, kill_ms: 0 },
    tree_receipt: { killed_processes: 0, survivors: 0, kill_ms: 0 },
    cleanup_pending: true,
    error: null,
    ...more,
  };
}

export async function openFixture(options: Partial<LedgerOptions> = {}): Promise<LedgerFixture> {
  const shared = options.url ?? process.env["HOLDFAST_TEST_REDIS_URL"];
  const own: PrivateRedis | null = shared === undefined ? await startPrivateRedis() : null;
  const url = shared ?? own?.url ?? "";
  const prefix = `t_${randomBytes(6).toString("hex")}`;
  const root = `{${prefix}}`;
  const scripts = loadScripts({ lease_ms: options.lease_ms ?? LEASE_MS, parts: { clock: CLOCK } });
  const opened: Ledger[] = [];
  const another = (more: Partial<LedgerOptions> = {}) => {
    const ledger = composeLedger({ url, prefix, role: "test", ...options, ...more }, scripts);
    opened.push(ledger);
    return ledger;
  };
  const ledger = another();
  const redis = ledger.connection("fixture");
  let clock_ms = Date.now();

  const fixture: LedgerFixture = {
    ledger,
    redis,
    root,
    url,
    another,
    now: () => clock_ms,
    setClock: async (ms) => {
      clock_ms = ms;
      await redis.set(`${root}-clock`, `${ms}000`);
    },
    advance: (ms) => fixture.setClock(clock_ms + ms),
    register: async (more = {}) => {
      const worker = { boot_id: more.boot_id ?? drawBootId(), host_id: more.host_id ?? drawHostId() };
      const reply = await ledger.boots.register({
        ...{ limits: LIMITS, default_limits: LIMITS, images: [{ image: IMAGE, digest: DIGEST }], runtimes: ["runc"] },
        ...{ engine_version: "20.10.24", program_version: "0.1.0", ...worker, ...more },
      });
      expect(reply).toMatchObject({ kind: "registered" });
      return worker;
    },
    accept: async (more) => {
      const reply = await ledger.tasks.accept(request(more), { queue: "tasks", job_id: null });
      if (reply.kind !== "accepted") throw new Error(`not accepted: ${JSON.stringify(reply)}`);
      return reply.delivery;
    },
    admit: (worker, delivery) =>
      ledger.tasks.admit({ ...delivery, ...worker, sandbox_id: drawSandboxId(), owner_token: drawOwnerToken() }),
    granted: async (worker, delivery) => {
      const reply = await fixture.admit(worker, delivery);
      if (reply.kind !== "granted") throw new Error(`not granted: ${JSON.stringify(reply)}`);
      return reply.grant;
    },
    running: async (worker, more) => {
      const grant = await fixture.granted(worker, await fixture.accept(more));
      expect(await ledger.tasks.activate(grant, grant.sandbox_id)).toMatchObject({ kind: "active" });
      return grant;
    },
    ...endsOf(ledger, (ms) => fixture.advance(ms)),
    tombstoneLife: (of) => redis.pttl(`${root}:boot:${of.boot_id}`),
    digest: () => digestOf(redis, root),
    ...proofsOf(ledger),
    close: async () => {
      const keys = await redis.keys(`${root}*`);
      if (keys.length > 0) await redis.del(...keys);
      await Promise.all(opened.map((each) => each.close()));
      await own?.stop();
    },
  };
  await ledger.fleet(null);
  return fixture;
}

/** A ledger for each test of a file, its clock standing still; each test leaves sums that equal a recount (C1). */
export function useFreshLedger(begin: (fixture: LedgerFixture) => Promise<void>): void {
  let fixture: LedgerFixture;
  beforeEach(async () => {
    fixture = await openFixture();
    await fixture.setClock(Date.now());
    await begin(fixture);
  });
  afterEach(async () => {
    await fixture.expectCounted();
    await fixture.close();
  });
}

function endsOf(
  ledger: Ledger,
  advance: (ms: number) => Promise<void>,
): Pick<LedgerFixture, "finish" | "sight" | "dies"> {
  const sight = async (of: Worker): Promise<BootSight> => {
    const found = (await ledger.boots.look()).find(({ boot_id }) => boot_id === of.boot_id);
    if (!found) throw new Error("no such boot");
    return found;
  };
  return {
    sight,
    finish: async (grant) => {
      expect(await ledger.tasks.settle(grant, outcomeOf(grant))).toMatchObject({ kind: "settled" });
      expect(await ledger.tasks.release(grant)).toMatchObject({ kind: "released" });
    },
    dies: async (of) => {
      await advance(LEASE_MS);
      const { counter } = await sight(of);
      expect(await ledger.boots.bury(of.boot_id, counter)).toMatchObject({ kind: "buried" });
    },
  };
}

function proofsOf(ledger: Ledger): Pick<LedgerFixture, "expectCounted" | "expectQuiet"> {
  return {
    expectCounted: async () => {
      const { miscounted, overcommitted } = await census(ledger);
      expect({ miscounted, overcommitted }).toEqual({ miscounted: [], overcommitted: [] });
    },
    expectQuiet: async () => {
      const { keys: _, ...rest } = await census(ledger);
      expect(Object.fromEntries(Object.entries(rest).filter(([, found]) => found.length > 0))).toEqual({});
    },
  };
}

async function digestOf(redis: Redis, root: string): Promise<string> {
  const keys = (await redis.keys(`${root}:*`)).toSorted();
  const values = await Promise.all(keys.map((key) => contentOf(redis, key)));
  return keys.map((key, index) => `${key}=${values[index]}`).join("\n");
}

/** A read may change the order in which Redis dumps fields and members, and nothing else of them. */
async function contentOf(redis: Redis, key: string): Promise<string> {
  const type = await redis.type(key);
  if (type === "set") return JSON.stringify((await redis.smembers(key)).toSorted());
  if (type !== "hash") return `${(await redis.dumpBuffer(key))?.toString("base64")}`;
  return JSON.stringify(Object.entries(await redis.hgetall(key)).toSorted());
}
