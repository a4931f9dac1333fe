#!lua flags=allow-oom
-- boot-beat: renews a boot's lease for all it holds and tells it what the ledger knows of that.
-- ARGV: boot, counter, highest fence seen ('' for none), engine healthy (0 | 1), failed checks by comma ('' for none),
--   count of strange sandboxes ('' where nobody looked), strange sandbox, boot whose pool made it or '', ...,
--   held token, ...
-- Replies: {ok, boot drains (0 | 1), host drains (0 | 1), cancelled tokens, unknown tokens, missing tokens}
--   · {unknown} · {dead}
-- Keeps: L1 L3 L4 C2 T3. Idempotent under re-send by the counter: a copy neither renews nor counts.
--- @include "begin"
--- @include "fence"
--- @include "grants"
--- @include "strangers"
local boot, counter = ARGV[1], tonumber(ARGV[2])
-- Whoever reports it, a fence that was seen was given out; and a beat may be the first to meet a new run of Redis.
if ARGV[3] ~= '' then raise_fence_floor(ARGV[3]) end
grants_open()
local found = redis.call('HMGET', key.boot(boot), 'state', 'counter', 'host')
local state, last, host = found[1], found[2], found[3]
if not state then return { 'unknown' } end
if state == 'DEAD' then return { 'dead' } end

local fresh, missed = counter > tonumber(last), key.boot_missing(boot)
local first_held = 7 + 2 * (tonumber(ARGV[6]) or 0)
local held, cancelled, unknown, missing = {}, {}, {}, {}
for i = first_held, #ARGV do
  local token = ARGV[i]
  held[token] = true
  local of = redis.call('HMGET', key.reservation(token), 'workspace', 'task', 'boot')
  if of[3] ~= boot then
    unknown[#unknown + 1] = token
  else
    local flag = redis.call('HMGET', key.task(of[1], of[2]), 'cancel', 'token', 'status')
    if flag[1] == '1' and flag[2] == token and flag[3] == 'RUNNING' then cancelled[#cancelled + 1] = token end
  end
end
for _, token in ipairs(redis.call('SMEMBERS', key.boot_tokens(boot))) do
  if held[token] then
    redis.call('HDEL', missed, token)
  else
    if fresh then redis.call('HINCRBY', missed, token, 1) end
    if tonumber(redis.call('HGET', missed, token) or '0') >= 2 then missing[#missing + 1] = token end
  end
end
if fresh then
  local lease_ends = int(now_ms + LEASE_MS)
  redis.call('HSET', key.boot(boot), 'counter', ARGV[2], 'lease_ends_ms', lease_ends, 'failed_checks', ARGV[5])
  redis.call('HSET', key.host(host), 'engine_healthy', ARGV[4])
  if ARGV[6] ~= '' then note_strangers(boot, host, { unpack(ARGV, 7, first_held - 1) }) end
end
local host_drains = redis.call('HGET', key.host(host), 'draining') or '0'
return { 'ok', state == 'DRAINING' and '1' or '0', host_drains, cancelled, unknown, missing }
