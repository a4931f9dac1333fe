-- Pool slices: memory and pids of a host that one boot reserves for sandboxes that wait for a task (C1). A slice stands
-- in the boot's record, counts in the sum of its host, and is no reservation: no token names it.
--- @include "amount"
local function slice_of(boot)
  local found = redis.call('HMGET', key.boot(boot), 'slice_memory_mb', 'slice_pids')
  return { 0, 0, tonumber(found[1] or '0'), tonumber(found[2] or '0') }
end

local function set_slice(boot, host, had, wanted)
  local more = { unpack(wanted) }
  take(had, more)
  add_to_sum('host', host, more, 1)
  redis.call('HSET', key.boot(boot), 'slice_memory_mb', int(wanted[3]), 'slice_pids', int(wanted[4]))
end
