#!lua flags=allow-oom
-- host-drain: takes a host out of service, or back into it. No boot of it, of now or later, is granted anything while
-- it drains; what runs there goes on. Its boots hear of it by their bells.
-- ARGV: host, drains (1 | 0)
-- Replies: {done, promotions} · {unknown}
-- Keeps: T2. Idempotent: the flag is set, not toggled; promotions are named again.
--- @include "begin"
--- @include "heads"
local host, promotions = ARGV[1], {}
if redis.call('SISMEMBER', key.hosts, host) == 0 then return { 'unknown' } end
if ARGV[2] == '1' then
  redis.call('HSET', key.host(host), 'draining', '1')
else
  redis.call('HDEL', key.host(host), 'draining')
  add_fleet_heads(promotions)
end
for _, boot in ipairs(redis.call('SMEMBERS', key.host_boots(host))) do
  redis.call('PUBLISH', key.bell(boot), 'drain')
end
return { 'done', promotions }
