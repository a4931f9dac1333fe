-- How a boot ends (L4). Its tombstone stays while a reservation or a route names the boot, or it holds a slice, and its
-- retention after that, so it outlives every record of a task that bears its name.
--- @include "slices"
local function holds_slice(boot)
  local slice = slice_of(boot)
  return slice[3] > 0 or slice[4] > 0
end

local function let_tombstone_go(boot)
  if redis.call('HGET', key.boot(boot), 'state') ~= 'DEAD' then return end
  if redis.call('EXISTS', key.boot_tokens(boot), key.boot_routes(boot)) > 0 or holds_slice(boot) then return end
  redis.call('PEXPIRE', key.boot(boot), TOMBSTONE_RETENTION_MS)
end

local function declare_dead(boot)
  local host = redis.call('HGET', key.boot(boot), 'host')
  redis.call('SMOVE', key.host_boots(host), key.host_dead(host), boot)
  redis.call('HSET', key.boot(boot), 'state', 'DEAD', 'dead_ms', int(now_ms))
  redis.call('HDEL', key.boot(boot), 'lease_ends_ms', 'pool_report')
  redis.call('DEL', key.boot_missing(boot))
  let_tombstone_go(boot)
end

-- How long it has been DEAD. A clock that stepped back begins that anew.
local function age_of_death(boot, dead_ms)
  local age = now_ms - tonumber(dead_ms)
  if age >= 0 then return age end
  redis.call('HSET', key.boot(boot), 'dead_ms', int(now_ms))
  return 0
end

-- Whether the boot is DEAD for longer than the tail that Redis may lose: a younger DEAD may be taken back by a crash,
-- and whoever acted on it would have acted on a boot that lives.
local function dead_for_good(boot)
  local found = redis.call('HMGET', key.boot(boot), 'state', 'dead_ms')
  return found[1] == 'DEAD' and age_of_death(boot, found[2]) >= LOST_TAIL_MS
end
