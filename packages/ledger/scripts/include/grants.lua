-- Whether grants are open. A new run id means that Redis may have lost its tail: for one lease nothing is granted,
-- so that whoever was granted in the lost tail is past its lease or has been heard.
local function grants_open()
  local run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
  local found = redis.call('HMGET', key.fleet, 'run_id', 'grants_open_at_ms', 'closed_cleanly')
  if found[1] == run_id then return now_ms >= tonumber(found[2]) end
  local open_at = found[3] == '1' and now_ms or now_ms + LEASE_MS
  redis.call('HSET', key.fleet, 'run_id', run_id, 'grants_open_at_ms', int(open_at))
  return now_ms >= open_at
end
