/** Opens the ledger: one connection for commands, one for subscriptions when needed, and those lent to BullMQ. */
import { drawFleetId, type FleetId, fleetIdSchema, TIMES } from "@holdfast/contract";
import type { Redis } from "ioredis";
import { createBootStore } from "./boot-store.js";
import { type Caller, createCaller } from "./caller.js";
import { connect } from "./connection.js";
import { createEventStore } from "./event-store.js";
import { createHostStore } from "./host-store.js";
import { keysOf, rootOf } from "./keys.js";
import type { FleetReply, Ledger, LedgerOptions, OpenLedger } from "./ledger.js";
import { list, whole } from "./replies.js";
import { createRetentionStore } from "./retention.js";
import { loadScripts, type Scripts } from "./script-loader.js";
import { problemsOf, tailOf } from "./server-problems.js";
import { createSubscriber } from "./subscriber.js";
import { createTaskStore } from "./task-store.js";

const DEFAULT_PREFIX = "holdfast";

/**
 * With `fail_fast_ms` it throws LEDGER_UNAVAILABLE within that time where Redis does not answer; without, it returns
 * at once and calls wait for Redis.
 */
export const openLedger: OpenLedger = async (options) => {
  const lease_ms = options.lease_ms ?? TIMES.boot_lease_ms;
  const ledger = composeLedger(options, scriptsFor(lease_ms));
  if (options.fail_fast_ms === undefined) return ledger;
  try {
    await ledger.serverProblems();
    return ledger;
  } catch (error) {
    await ledger.close();
    throw error;
  }
};

/** Of this process, by lease: to put them together takes tens of milliseconds. */
const loaded = new Map<number, Scripts>();

function scriptsFor(lease_ms: number): Scripts {
  const scripts = loaded.get(lease_ms) ?? loadScripts({ lease_ms });
  loaded.set(lease_ms, scripts);
  return scripts;
}

/** The ledger over scripts that were loaded already. */
export function composeLedger(options: LedgerOptions, scripts: Scripts): Ledger {
  const prefix = options.prefix ?? DEFAULT_PREFIX;
  const keys = keysOf(prefix);
  const lease_ms = options.lease_ms ?? TIMES.boot_lease_ms;
  const open: Redis[] = [];

  function connection(role: string): Redis {
    const redis = connect({ url: options.url, name: `${prefix}:${options.role}:${role}` });
    open.push(redis);
    redis.once("end", () => open.splice(open.indexOf(redis), 1));
    return redis;
  }

  const redis = connection("ledger");
  const root = rootOf(prefix);
  const caller = createCaller({ redis, root, scripts, fail_fast_ms: options.fail_fast_ms ?? null });
  const subscriber = createSubscriber(() => connection("subscriber"));

  return {
    prefix,
    tasks: createTaskStore(caller),
    boots: createBootStore({ caller, keys, subscriber, lease_ms }),
    hosts: createHostStore(caller),
    events: createEventStore({ caller, keys, subscriber }),
    retention: createRetentionStore(caller),
    fleet: (wanted, born) => openFleet(caller, wanted, born ?? wanted === null),
    closeCleanly: async () => whole(await caller.run("fleet-close", [])) === 1,
    serverProblems: async () => problemsOf(await infoOf(caller)),
    tailKept: () => caller.command(async (redis) => tailOf(await redis.config("GET", "appendfsync").catch(() => null))),
    ping: (deadline_ms) => answersWithin(redis, deadline_ms),
    connection,
    close: async () => {
      subscriber.close();
      for (const each of [...open]) each.disconnect();
    },
  };
}

async function openFleet(caller: Caller, wanted: FleetId | null, born: boolean): Promise<FleetReply> {
  const [fleet, schema, open_in] = list(await caller.run("fleet-open", [wanted ?? drawFleetId(), born ? 1 : 0]));
  return { fleet_id: fleetIdSchema.parse(fleet), schema: whole(schema), grants_open_in_ms: whole(open_in) };
}

async function infoOf(caller: Caller): Promise<string> {
  const sections = ["server", "memory", "persistence"] as const;
  const texts = await caller.command((redis) => Promise.all(sections.map((section) => redis.info(section))));
  return texts.join("\n");
}

async function answersWithin(redis: Redis, deadline_ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), deadline_ms);
  });
  const answer = redis.status === "ready" ? redis.ping().then(() => true) : whenAnswers(redis);
  try {
    return await Promise.race([answer.catch(() => false), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A connection that is being made answers when it is ready. */
function whenAnswers(redis: Redis): Promise<true> {
  return new Promise((resolve) => redis.once("ready", () => resolve(true)));
}
