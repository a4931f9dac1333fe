#!lua flags=allow-oom
-- boot-bury: declares a boot DEAD for ever, where its lease has ended and its counter is the one that was seen to
-- stand still. A beat that was on the way comes first, and the boot lives, or late, and hears DEAD.
-- ARGV: boot, counter seen
-- Replies: {buried | already, promotions} · {alive} · {unknown}
-- Keeps: L4. Idempotent: a DEAD boot stays so.
--- @include "begin"
--- @include "tombstones"
--- @include "heads"
local boot, seen = ARGV[1], ARGV[2]
local found = redis.call('HMGET', key.boot(boot), 'state', 'lease_ends_ms', 'counter')
if not found[1] then return { 'unknown' } end
if found[1] ~= 'DEAD' then
  if lease_stands(found[1], found[2]) or found[3] ~= seen then return { 'alive' } end
  declare_dead(boot)
end
local promotions = {}
add_fleet_heads(promotions)
return { found[1] == 'DEAD' and 'already' or 'buried', promotions }
