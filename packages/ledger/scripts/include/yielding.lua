-- Pools yield: where a task lacks only room that slices hold, the boots of that host are asked to give theirs back.
--- @include "boots"
--- @include "slices"
local function has_room_without_pool(task, host)
  local room = { unpack(free_in('host', host)) }
  for _, boot in ipairs(redis.call('SMEMBERS', key.host_boots(host))) do
    local slice = slice_of(boot)
    for i = 1, #room do room[i] = room[i] + slice[i] end
  end
  return fits(amount_in(task), room)
end

-- Of one host only: that which denied the task, or else the first.
local function want_pool_back(task, host)
  local hosts, amount = redis.call('SMEMBERS', key.hosts), amount_in(task)
  table.sort(hosts, function(left, right)
    if left == host or right == host then return left == host and right ~= host end
    return left < right
  end)
  for _, other in ipairs(hosts) do
    local full = could_serve(other, task) and not fits(amount, free_in('host', other))
    if full and has_room_without_pool(task, other) and engine_healthy(other) and takes_tasks(other) then
      return redis.call('HSET', key.host(other), 'pool_wanted_back_ms', int(now_ms))
    end
  end
end

-- Asked for a while ago; a note from before the clock stepped back counts no more.
local function is_pool_wanted_back(host)
  local noted = tonumber(redis.call('HGET', key.host(host), 'pool_wanted_back_ms') or '')
  return noted and noted <= now_ms and now_ms < noted + POOL_YIELD_MS or false
end
