-- Whether grants are open. A new run id means that Redis may have lost its tail: for one lease nothing is granted,
-- so that whoever was granted in the lost tail is past its lease or has been heard. Once open they stay so, wherever
-- the clock steps; a clock that steps back while they are closed begins the lease anew.
local function close_grants(fields)
  redis.call('HSET', key.fleet, 'grants_open_at_ms', int(now_ms + LEASE_MS), unpack(fields))
  return false
end

local function open_grants(fields)
  redis.call('HSET', key.fleet, 'grants_open_at_ms', '0', unpack(fields))
  return true
end

--- @rare
local function open_by_now(run_id, found)
  if found[1] ~= run_id then
    if found[3] == '1' then return open_grants({ 'run_id', run_id, 'tail_lost', '0' }) end
    return close_grants({ 'run_id', run_id, 'tail_lost', '1' })
  end
  local opens = tonumber(found[2])
  if now_ms >= opens then return open_grants({}) end
  if opens - LEASE_MS > now_ms then return close_grants({}) end
  return false
end

local function grants_open()
  local run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
  local found = redis.call('HMGET', key.fleet, 'run_id', 'grants_open_at_ms', 'closed_cleanly')
  return found[1] == run_id and found[2] == '0' or open_by_now(run_id, found)
end
