#!lua flags=allow-oom
-- boot-retire: a boot that holds nothing declares itself DEAD for ever and leaves a tombstone.
-- ARGV: boot
-- Replies: {retired} · {holds, token, ...}
-- Keeps: L4 Q1. Idempotent: a DEAD boot stays so.
--- @include "begin"
local boot = ARGV[1]
local state = redis.call('HGET', key.boot(boot), 'state')
if not state or state == 'DEAD' then return { 'retired' } end
local tokens = redis.call('SMEMBERS', key.boot_tokens(boot))
if #tokens > 0 then return { 'holds', unpack(tokens) } end
redis.call('HSET', key.boot(boot), 'state', 'DEAD', 'dead_ms', int(now_ms))
redis.call('HDEL', key.boot(boot), 'lease_ends_ms')
redis.call('DEL', key.boot_missing(boot))
redis.call('PEXPIRE', key.boot(boot), TOMBSTONE_RETENTION_MS)
return { 'retired' }
