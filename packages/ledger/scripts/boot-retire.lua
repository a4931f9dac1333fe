#!lua flags=allow-oom
-- boot-retire: a boot that holds nothing declares itself DEAD for ever and leaves a tombstone.
-- ARGV: boot
-- Replies: {retired} · {holds, token, ...} (no token where it holds a pool slice only)
-- Keeps: L4 Q1. Idempotent: a DEAD boot stays so.
--- @include "begin"
--- @include "tombstones"
local boot = ARGV[1]
local state = redis.call('HGET', key.boot(boot), 'state')
if not state or state == 'DEAD' then return { 'retired' } end
local tokens = redis.call('SMEMBERS', key.boot_tokens(boot))
if #tokens > 0 or holds_slice(boot) then return { 'holds', unpack(tokens) } end
declare_dead(boot)
return { 'retired' }
