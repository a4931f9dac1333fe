#!lua flags=allow-oom
-- boot-drain: the boot takes nothing more. Idempotent; a boot that is unknown or DEAD stays as it is.
-- ARGV: boot
-- Replies: 1, or 0 where there is nothing to drain
-- Keeps: L4
--- @include "begin"
local state = redis.call('HGET', key.boot(ARGV[1]), 'state')
if not state or state == 'DEAD' then return 0 end
redis.call('HSET', key.boot(ARGV[1]), 'state', 'DRAINING')
redis.call('PUBLISH', key.bell(ARGV[1]), 'drain')
return 1
