#!lua flags=allow-oom
-- fleet-close: marks a ledger that nobody can act in any more, so that its next start grants at once.
-- Replies: 1, or 0 where a boot has not retired or something is reserved
-- Keeps: L1 L4
--- @include "begin"
if redis.call('EXISTS', key.reservations) == 1 then return 0 end
for _, host in ipairs(redis.call('SMEMBERS', key.hosts)) do
  if redis.call('EXISTS', key.host_boots(host), key.sum('host', host)) > 0 then return 0 end
end
redis.call('HSET', key.fleet, 'closed_cleanly', '1')
return 1
