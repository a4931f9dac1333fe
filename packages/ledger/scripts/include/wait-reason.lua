-- Why a task that waits does not run, as far as that can be told without counting room. Reads only, and asks each
-- host once however many tasks a script shows.
--- @include "boots"
local function once(read)
  local known = {}
  return function(name, task)
    if known[name] == nil then known[name] = read(name, task) or false end
    return known[name]
  end
end

-- A new run of Redis that no beat has met yet shows as open.
local function grants_open_in_ms()
  local opens = tonumber(redis.call('HGET', key.fleet, 'grants_open_at_ms') or '0')
  return math.max(0, math.min(opens - now_ms, LEASE_MS))
end

local closed = once(function(host)
  if host_drains(host) then return 'draining' end
  if not takes_tasks(host) then
    if has_unfit_boot(host) then return 'host_unfit' end
    return has_live_boot(host) and 'draining' or 'no_worker'
  end
  if not engine_healthy(host) then return 'engine_unavailable' end
  if grants_open_in_ms() > 0 or shows_strangers(host) then return 'grants_closed' end
end)

-- Why the host takes no such task whatever room it has, or false.
local function closed_to(host, task)
  if redis.call('HEXISTS', key.host_images(host), task.image) == 0 then return 'image_absent' end
  if redis.call('SISMEMBER', key.host_runtimes(host), task.runtime) == 0 then return 'runtime_absent' end
  if too_small(host, task) then return 'too_small' end
  return closed(host)
end

local NEARER = { no_worker = 1, draining = 2, host_unfit = 3, engine_unavailable = 4, grants_closed = 5 }

-- What is in the way at every host, the least of it, for all tasks that ask for the same; false where one is open.
local closed_everywhere = once(function(_, task)
  local nearest = 'no_worker'
  for _, host in ipairs(redis.call('SMEMBERS', key.hosts)) do
    local why = closed_to(host, task)
    if not why then return false end
    if (NEARER[why] or 0) > NEARER[nearest] then nearest = why end
  end
  return nearest
end)

local function wait_reason(task)
  local asked = { task.image, task.runtime, task.slots, task.cpu_milli, task.memory_mb, task.pids }
  local why = closed_everywhere(table.concat(asked, ' '), task)
  if why then return why end
  if task.wait_scope then return task.wait_scope .. '_full' end
  return tonumber(task.attempt) > 0 and 'requeued' or 'queued'
end
