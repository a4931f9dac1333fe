#!lua
-- fleet-open: finds the fleet recorded here, or records the one wanted.
-- ARGV: fleet wanted or drawn, born (1 where no host bears a fleet yet, so that nothing can have been granted before)
-- Replies: {fleet, schema, milliseconds until grants are open}
-- Keeps: L1 L4 (an emptied ledger grants nothing for one lease)
--- @include "begin"
--- @include "grants"
if redis.call('EXISTS', key.fleet) == 0 and ARGV[2] == '1' then redis.call('HSET', key.fleet, 'closed_cleanly', '1') end
grants_open()
redis.call('HSETNX', key.fleet, 'fleet_id', ARGV[1])
redis.call('HSETNX', key.fleet, 'schema', SCHEMA)
redis.call('HDEL', key.fleet, 'closed_cleanly')
local found = redis.call('HMGET', key.fleet, 'fleet_id', 'schema', 'grants_open_at_ms')
return { found[1], found[2], int(math.max(0, tonumber(found[3]) - now_ms)) }
