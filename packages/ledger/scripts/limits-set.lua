#!lua
-- limits-set: limits of a scope. Those not named stay; no field at all lifts every limit. A limit below what is
-- reserved frees nothing: nothing more is granted until enough was released.
-- ARGV: scope, id, field, value, ...
-- Replies: 1, or 0 for a host that is not registered; a host's limits can be changed, not lifted
-- Keeps: C1
--- @include "begin"
local limits = key.limits(ARGV[1], ARGV[2])
if ARGV[1] == 'host' and (#ARGV == 2 or redis.call('SISMEMBER', key.hosts, ARGV[2]) == 0) then return 0 end
if #ARGV == 2 then
  redis.call('DEL', limits)
else
  redis.call('HSET', limits, unpack(ARGV, 3))
end
return 1
