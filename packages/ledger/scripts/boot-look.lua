#!lua flags=allow-oom
-- boot-look: every boot with a record, tombstones included. It changes nothing but the age of a death where the clock
-- stepped back.
-- Replies: {{boot, host, state, counter, lease ended (0 | 1), milliseconds since DEAD ('' while not),
--   reservations, holds a slice (0 | 1)}, ...}
-- Keeps: L4 (what an observer sees; it proves nothing by itself)
--- @include "begin"
--- @include "boots"
--- @include "tombstones"
local list = {}
for _, host in ipairs(redis.call('SMEMBERS', key.hosts)) do
  for _, boot in ipairs(redis.call('SUNION', key.host_boots(host), key.host_dead(host))) do
    local found = redis.call('HMGET', key.boot(boot), 'state', 'counter', 'lease_ends_ms', 'dead_ms')
    if found[1] then
      local dead = found[1] == 'DEAD' and int(age_of_death(boot, found[4])) or ''
      local ended = lease_stands(found[1], found[3]) and '0' or '1'
      local held, slice = redis.call('SCARD', key.boot_tokens(boot)), holds_slice(boot) and '1' or '0'
      list[#list + 1] = { boot, host, found[1], found[2], ended, dead, held, slice }
    end
  end
end
table.sort(list, function(left, right) return left[1] < right[1] end)
return list
