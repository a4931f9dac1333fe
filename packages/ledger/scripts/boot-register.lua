#!lua flags=allow-oom
-- boot-register: begins the life of a boot, with its lease, and says what its host offers. The first worker of a
-- host fixes the host's limits; they may be fixed anew once no boot of the host lives and what is reserved fits.
-- ARGV: boot, host, engine version, program version, limits ('' for none), default limits,
--   count of runtimes, runtime, ..., image, digest ('' where it is not offered), JSON note of its check, ...
--   (limits are slots,cpu_milli,memory_mb,pids)
-- Replies: {registered, limits, promotions} · {limits_differ, recorded} · {image_differs, image, recorded, offered}
-- Keeps: C1 L4. Idempotent under re-send: a boot registers once.
--- @include "begin"
--- @include "heads"
--- @include "grants"
local boot, host = ARGV[1], ARGV[2]
local first_image = 8 + tonumber(ARGV[7])
local state = redis.call('HGET', key.boot(boot), 'state')
if state == 'DEAD' then return redis.error_reply('DEADBOOT a boot id is never used again') end

local function numbers(text)
  local found = {}
  for number in string.gmatch(text, '%d+') do found[#found + 1] = tonumber(number) end
  return found
end

local function recorded_limits()
  if redis.call('EXISTS', key.limits('host', host)) == 0 then return nil end
  return table.concat(redis.call('HMGET', key.limits('host', host), unpack(AMOUNT)), ',')
end

local function registered(limits)
  local promotions = {}
  add_fleet_heads(promotions)
  return { 'registered', limits, promotions }
end

local alone = not has_live_boot(host, boot)
local recorded = recorded_limits()
if state then return registered(recorded) end
local limits = recorded or (ARGV[5] ~= '' and ARGV[5] or ARGV[6])
if recorded and ARGV[5] ~= '' and ARGV[5] ~= recorded then
  if not alone or not fits(sum_of('host', host), numbers(ARGV[5])) then return { 'limits_differ', recorded } end
  limits = ARGV[5]
end

-- One digest a ref in the whole fleet, as far as anybody alive offers it.
for _, other in ipairs(redis.call('SMEMBERS', key.hosts)) do
  if has_live_boot(other, boot) then
    for i = first_image, #ARGV, 3 do
      local digest = ARGV[i + 1] ~= '' and redis.call('HGET', key.host_images(other), ARGV[i])
      if digest and digest ~= ARGV[i + 1] then return { 'image_differs', ARGV[i], digest, ARGV[i + 1] } end
    end
  end
end

grants_open()
redis.call('HDEL', key.fleet, 'closed_cleanly')
redis.call('SADD', key.hosts, host)
for i, limit in ipairs(numbers(limits)) do redis.call('HSET', key.limits('host', host), AMOUNT[i], limit) end
redis.call('HSET', key.host(host), 'engine_version', ARGV[3], 'program_version', ARGV[4], 'engine_healthy', '1')
if alone then redis.call('DEL', key.host_images(host), key.host_image_notes(host), key.host_runtimes(host)) end
for i = 8, first_image - 1 do redis.call('SADD', key.host_runtimes(host), ARGV[i]) end
for i = first_image, #ARGV, 3 do
  local image, digest, note = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if digest ~= '' then redis.call('HSET', key.host_images(host), image, digest) end
  -- What another worker of the host offers is offered, whatever this one found.
  if digest ~= '' or redis.call('HEXISTS', key.host_images(host), image) == 0 then
    redis.call('HSET', key.host_image_notes(host), image, note)
  end
end
for _, other in ipairs(redis.call('SMEMBERS', key.host_dead(host))) do
  if redis.call('EXISTS', key.boot(other)) == 0 then redis.call('SREM', key.host_dead(host), other) end
end
redis.call('SADD', key.host_boots(host), boot)
redis.call('HSET', key.boot(boot), 'host', host, 'state', 'LIVE', 'counter', '-1', 'program_version', ARGV[4],
  'registered_ms', int(now_ms), 'lease_ends_ms', int(now_ms + LEASE_MS))
return registered(limits)
