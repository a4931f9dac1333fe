#!lua flags=allow-oom
-- limits-set: limits of a scope. Those not named stay, '' lifts one; no field at all lifts every limit. A limit below
-- what is reserved ends nothing: nothing more is granted until enough was released. A higher one wakes waiters.
-- ARGV: scope, id, field, value, ...
-- Replies: {set, promotions} · {unknown} for a host that is not registered · {kept} where a host's would be lifted
-- Keeps: C1. Idempotent under re-send.
--- @include "begin"
--- @include "heads"
local scope, id = ARGV[1], ARGV[2]
local limits, lifted = key.limits(scope, id), {}
if scope == 'host' and redis.call('SISMEMBER', key.hosts, id) == 0 then return { 'unknown' } end
for i = 3, #ARGV, 2 do
  if ARGV[i + 1] == '' then lifted[#lifted + 1] = ARGV[i] end
end
if scope == 'host' and (#ARGV == 2 or #lifted > 0) then return { 'kept' } end

if #ARGV == 2 then redis.call('DEL', limits) end
if #lifted > 0 then redis.call('HDEL', limits, unpack(lifted)) end
for i = 3, #ARGV, 2 do
  if ARGV[i + 1] ~= '' then redis.call('HSET', limits, ARGV[i], ARGV[i + 1]) end
end

local promotions = {}
if scope == 'workspace' then
  list_workspace(id)
  add_workspace_heads(id, promotions)
end
add_fleet_heads(promotions)
return { 'set', promotions }
