/** Looks at a ledger past its own scripts: one atomic read of what is reserved, allowed, summed up and alive. */
import { Redis } from "ioredis";
import type { History, SeenAmount, SeenReservation } from "./history.js";
import { monotonicMs } from "./proxy-rules.js";

const LOOK = `
local root = KEYS[1]
local function hash(name)
  local flat, fields = redis.call('HGETALL', name), {}
  for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
  return fields
end
local found = { reservations = {}, boots = {}, limits = {}, sums = {}, none = cjson.null }
local scopes = { 'fleet:all' }
for _, workspace in ipairs(ARGV) do scopes[#scopes + 1] = 'workspace:' .. workspace end
for _, host in ipairs(redis.call('SMEMBERS', root .. ':hosts')) do
  scopes[#scopes + 1] = 'host:' .. host
  for _, boot in ipairs(redis.call('SUNION', root .. ':host:' .. host .. ':boots', root .. ':host:' .. host .. ':dead')) do
    found.boots[boot] = redis.call('HGET', root .. ':boot:' .. boot, 'state') or nil
  end
end
for _, scope in ipairs(scopes) do
  found.limits[scope] = hash(root .. ':limits:' .. scope)
  found.sums[scope] = hash(root .. ':sum:' .. scope)
end
for _, token in ipairs(redis.call('SMEMBERS', root .. ':reservations')) do
  local fields = hash(root .. ':reservation:' .. token)
  fields.token = token
  found.reservations[#found.reservations + 1] = fields
end
return cjson.encode(found)`;

type Fields = Readonly<Record<string, string>>;

/** Lua writes an empty table as an object in either place. */
interface Found {
  readonly reservations: readonly Fields[] | Readonly<Record<string, never>>;
  readonly boots: Fields;
  readonly limits: Readonly<Record<string, Fields>>;
  readonly sums: Readonly<Record<string, Fields>>;
}

const AMOUNTS = ["slots", "cpu_milli", "memory_mb", "pids"] as const;

function amountIn(fields: Fields, absent: number): SeenAmount {
  const [slots, cpu_milli, memory_mb, pids] = AMOUNTS.map((name) => Number(fields[name] ?? absent));
  return {
    slots: slots ?? absent,
    cpu_milli: cpu_milli ?? absent,
    memory_mb: memory_mb ?? absent,
    pids: pids ?? absent,
  };
}

function amounts(scopes: Readonly<Record<string, Fields>>, absent: number): Record<string, SeenAmount> {
  const set = Object.entries(scopes).filter(([, fields]) => Object.keys(fields).length > 0);
  return Object.fromEntries(set.map(([scope, fields]) => [scope, amountIn(fields, absent)]));
}

function reservationOf(fields: Fields): SeenReservation {
  const { token = "", state = "", boot = "", host = "", workspace = "", task = "", sandbox = "" } = fields;
  return { token, state, boot, host, task: `${workspace}.${task}`, sandbox, amount: amountIn(fields, 0) };
}

export interface LedgerLook {
  /** Adds one look to the history. False where Redis does not answer. */
  look(): Promise<boolean>;
  close(): void;
}

export function lookAtLedger(url: string, prefix: string, workspaces: readonly string[], history: History): LedgerLook {
  const redis = new Redis(url, { maxRetriesPerRequest: 0, commandTimeout: 1_000, retryStrategy: () => 100 });
  redis.on("error", () => undefined);
  return {
    look: async () => {
      const from_ms = monotonicMs();
      const text = await redis.eval(LOOK, 1, `{${prefix}}`, ...workspaces).catch(() => null);
      if (typeof text !== "string") return false;
      const found = JSON.parse(text) as Found;
      const reservations = Array.isArray(found.reservations) ? found.reservations.map(reservationOf) : [];
      const limits = amounts(found.limits, Number.MAX_SAFE_INTEGER);
      const boots = found.boots as Record<string, string>;
      history.add({ kind: "ledger", from_ms, reservations, limits, sums: amounts(found.sums, 0), boots });
      return true;
    },
    close: () => redis.disconnect(),
  };
}
