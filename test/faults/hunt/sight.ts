/** What the ledger shows of one fleet at one moment: read by a script of the hunt's own, from the records alone. */
import type { Redis } from "ioredis";

const AMOUNT = ["slots", "cpu_milli", "memory_mb", "pids"] as const;
export type Amounts = readonly number[];

export interface TaskSight {
  /** `<workspace>.<task>`. */
  readonly name: string;
  readonly workspace: string;
  readonly status: string;
  readonly accepted_us: number;
  readonly queue: string;
  readonly job: string;
  readonly amount: Amounts;
  /** Holds its share of workspace and fleet from an earlier attempt. */
  readonly holds: boolean;
  readonly open: number;
}

export interface HostSight {
  readonly host_id: string;
  /** Its engine is well, and it does not drain. */
  readonly healthy: boolean;
  readonly limits: Amounts;
  readonly free: Amounts;
  /** Boots that take tasks by the ledger. */
  readonly boots: readonly string[];
}

export interface Sight {
  readonly tasks: readonly TaskSight[];
  readonly hosts: readonly HostSight[];
  /** By workspace; the fleet under `""`. */
  readonly free: ReadonlyMap<string, Amounts>;
  readonly now_ms: number;
}

const SCRIPT = `
local root, time = KEYS[1], redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found = { now = now, tasks = {}, hosts = {}, scopes = {} }
local amount = { 'slots', 'cpu_milli', 'memory_mb', 'pids' }
local function scope(kind, id)
  return { limits = redis.call('HMGET', root .. ':limits:' .. kind .. ':' .. id, unpack(amount)),
    sum = redis.call('HMGET', root .. ':sum:' .. kind .. ':' .. id, unpack(amount)) }
end
for i = 1, #ARGV do
  local workspace, task = string.match(ARGV[i], '^([^.]+)%.(.+)$')
  local fields = redis.call('HMGET', root .. ':task:' .. workspace .. ':' .. task, 'status', 'accepted_us', 'queue',
    'job', 'slots', 'cpu_milli', 'memory_mb', 'pids', 'scope_held', 'open')
  if fields[1] then found.tasks[#found.tasks + 1] = { ARGV[i], workspace, fields } end
  if not found.scopes[workspace] then found.scopes[workspace] = scope('workspace', workspace) end
end
found.scopes['.fleet'] = scope('fleet', 'all')
for _, host in ipairs(redis.call('SMEMBERS', root .. ':hosts')) do
  local boots = {}
  for _, boot in ipairs(redis.call('SMEMBERS', root .. ':host:' .. host .. ':boots')) do
    local life = redis.call('HMGET', root .. ':boot:' .. boot, 'state', 'lease_ends_ms')
    if life[1] == 'LIVE' and tonumber(life[2] or '0') > now then boots[#boots + 1] = boot end
  end
  local state = redis.call('HMGET', root .. ':host:' .. host, 'engine_healthy', 'draining')
  local serves = state[1] == '1' and state[2] ~= '1' and '1' or '0'
  found.hosts[#found.hosts + 1] = { host, serves, boots, scope('host', host) }
end
return cjson.encode(found)
`;

interface Scope {
  readonly limits: readonly (string | false)[];
  readonly sum: readonly (string | false)[];
}

interface Found {
  readonly now: number;
  readonly tasks: [string, string, string[]][] | Record<string, never>;
  readonly hosts: [string, string, string[] | Record<string, never>, Scope][] | Record<string, never>;
  readonly scopes: Record<string, Scope>;
}

/** Lua's empty table is an object in JSON. */
const listOf = <Item>(value: readonly Item[] | Record<string, never>): readonly Item[] =>
  Array.isArray(value) ? value : [];
const limitsOf = ({ limits }: Scope): number[] => AMOUNT.map((_, i) => Number(limits[i] || Number.POSITIVE_INFINITY));
const freeOf = (scope: Scope): number[] => limitsOf(scope).map((limit, i) => limit - Number(scope.sum[i] || 0));

export async function look(redis: Redis, prefix: string, names: readonly string[]): Promise<Sight> {
  const found = JSON.parse((await redis.eval(SCRIPT, 1, `{${prefix}}`, ...names)) as string) as Found;
  return {
    now_ms: found.now,
    tasks: listOf(found.tasks).map(([name, workspace, fields]) => {
      const [status = "", accepted = "0", queue = "", job = "", ...rest] = fields;
      return {
        ...{ name, workspace, status, queue, job },
        accepted_us: Number(accepted),
        amount: rest.slice(0, AMOUNT.length).map(Number),
        holds: rest[AMOUNT.length] === "1",
        open: Number(rest[AMOUNT.length + 1] ?? 0),
      };
    }),
    hosts: listOf(found.hosts).map(([host_id, healthy, boots, scope]) => {
      return {
        host_id,
        healthy: healthy === "1",
        boots: listOf(boots),
        limits: limitsOf(scope),
        free: freeOf(scope),
      };
    }),
    free: new Map(
      Object.entries(found.scopes).map(([id, scope]) => [id === ".fleet" ? "" : id, freeOf(scope)] as const),
    ),
  };
}
