-- Whether a boot may act (L3), and what a host offers.
--- @include "amount"

-- A lease that begins in the future is one from before the clock stepped back: it counts as ended.
local function lease_stands(state, ends)
  ends = tonumber(ends or '')
  return state and state ~= 'DEAD' and ends and now_ms < ends and ends - LEASE_MS <= now_ms
end

local function boot_may_act(boot)
  local found = redis.call('HMGET', key.boot(boot), 'state', 'lease_ends_ms')
  return lease_stands(found[1], found[2])
end

-- A host out of service: said of the host, whichever boots it has. A boot's own state DRAINING is the way to its end.
local function host_drains(host)
  return redis.call('HGET', key.host(host), 'draining') == '1'
end

-- Checks of its host that a boot found failed are named in its record: while there is one, it takes no task.
local function boot_takes_tasks(boot)
  local found = redis.call('HMGET', key.boot(boot), 'state', 'lease_ends_ms', 'failed_checks')
  return found[1] == 'LIVE' and lease_stands(found[1], found[2]) and (found[3] or '') == ''
end

local function takes_tasks(host)
  if host_drains(host) then return false end
  for _, boot in ipairs(redis.call('SMEMBERS', key.host_boots(host))) do
    if boot_takes_tasks(boot) then return true end
  end
  return false
end

local function has_unfit_boot(host)
  for _, boot in ipairs(redis.call('SMEMBERS', key.host_boots(host))) do
    local found = redis.call('HMGET', key.boot(boot), 'state', 'lease_ends_ms', 'failed_checks')
    if found[1] == 'LIVE' and lease_stands(found[1], found[2]) and (found[3] or '') ~= '' then return true end
  end
  return false
end

local function has_live_boot(host, except)
  for _, boot in ipairs(redis.call('SMEMBERS', key.host_boots(host))) do
    local found = redis.call('HMGET', key.boot(boot), 'state', 'lease_ends_ms')
    if boot ~= except and lease_stands(found[1], found[2]) then return true end
  end
  return false
end

-- After a lost tail: whether a boot of the host still sees live sandboxes of this fleet that the ledger does not know,
-- or has not been heard since. They hold room that no sum counts.
--- @rare
local function shows_strangers_in(run_id, host)
  for _, boot in ipairs(redis.call('SMEMBERS', key.host_boots(host))) do
    local found = redis.call('HMGET', key.boot(boot), 'state', 'lease_ends_ms', 'counter', 'strangers', 'looked_in_run')
    if lease_stands(found[1], found[2]) then
      if found[3] == '-1' or (found[5] and found[5] ~= run_id) then return true end
      if found[5] and found[4] ~= '0' then return true end
    end
  end
  return false
end

local function shows_strangers(host)
  local fleet = redis.call('HMGET', key.fleet, 'tail_lost', 'run_id')
  return fleet[1] == '1' and shows_strangers_in(fleet[2], host)
end

-- Whether the host is out of service, and whether its engine works.
local function condition_of(host)
  local found = redis.call('HMGET', key.host(host), 'draining', 'engine_healthy')
  return found[1] == '1', found[2] == '1'
end

local function engine_healthy(host)
  return redis.call('HGET', key.host(host), 'engine_healthy') == '1'
end

-- Asked once a script: who changes what a host offers asks afterwards only.
local known_offers = {}

local function offers(host, task)
  local asked = host .. ' ' .. task.image .. ' ' .. task.runtime
  if known_offers[asked] == nil then
    known_offers[asked] = redis.call('HEXISTS', key.host_images(host), task.image) == 1
      and redis.call('SISMEMBER', key.host_runtimes(host), task.runtime) == 1
  end
  return known_offers[asked]
end

local function could_serve(host, task)
  return offers(host, task) and fits(amount_in(task), limits_of('host', host))
end

-- Whether the host alone is too small for the task. One of no slots only pauses.
local function too_small(host, task)
  local amount = amount_in(task)
  amount[1] = 0
  return not fits(amount, limits_of('host', host))
end

-- Why no registered host can ever run the task, or nil. With no host at all, that is judged later: the second answer
-- is how many there are.
local function refusal_of(task)
  local why, hosts = nil, redis.call('SMEMBERS', key.hosts)
  for _, host in ipairs(hosts) do
    if redis.call('HEXISTS', key.host_images(host), task.image) == 0 then
      why = why or 'image'
    elseif redis.call('SISMEMBER', key.host_runtimes(host), task.runtime) == 0 then
      if why ~= 'resources' then why = 'runtime' end
    elseif too_small(host, task) then
      why = 'resources'
    else
      return nil, #hosts
    end
  end
  return why, #hosts
end

-- Every runtime that some host offers the image with.
local function runtimes_for(image)
  local found, names = {}, {}
  for _, host in ipairs(redis.call('SMEMBERS', key.hosts)) do
    if redis.call('HEXISTS', key.host_images(host), image) == 1 then
      for _, name in ipairs(redis.call('SMEMBERS', key.host_runtimes(host))) do
        if not found[name] then names[#names + 1] = name end
        found[name] = true
      end
    end
  end
  table.sort(names)
  return names
end
