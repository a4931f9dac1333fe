-- Sums of reservations by scope, kept incrementally and recountable from the reservations (C1).
local AMOUNT = { 'slots', 'cpu_milli', 'memory_mb', 'pids' }

local function amount_in(fields)
  local amount = {}
  for i, name in ipairs(AMOUNT) do amount[i] = tonumber(fields[name]) end
  return amount
end

-- Read once a script: whatever changes a sum goes through add_to_sum.
local sums = {}

local function sum_of(scope, id)
  local name = key.sum(scope, id)
  if sums[name] then return sums[name] end
  local sum = redis.call('HMGET', name, unpack(AMOUNT))
  for i = 1, #AMOUNT do sum[i] = tonumber(sum[i] or '0') end
  sums[name] = sum
  return sum
end

-- What was never limited is unlimited. Read once a script: who changes limits asks for them afterwards only.
local known_limits = {}

local function limits_of(scope, id)
  local name = key.limits(scope, id)
  if known_limits[name] then return known_limits[name] end
  local found = redis.call('HMGET', name, 'queued', 'pending_bytes', unpack(AMOUNT))
  local limits = { queued = tonumber(found[1] or ''), pending_bytes = tonumber(found[2] or '') }
  for i = 1, #AMOUNT do limits[i] = tonumber(found[i + 2] or '') or math.huge end
  known_limits[name] = limits
  return limits
end

local function free_in(scope, id)
  local sum, limits = sum_of(scope, id), limits_of(scope, id)
  local free = {}
  for i = 1, #AMOUNT do free[i] = limits[i] - sum[i] end
  return free
end

local function fits(amount, room)
  for i = 1, #AMOUNT do
    if amount[i] > room[i] then return false end
  end
  return true
end

local function take(amount, room)
  for i = 1, #AMOUNT do room[i] = room[i] - amount[i] end
end

local function add_to_sum(scope, id, amount, sign)
  local name, sum, flat = key.sum(scope, id), sum_of(scope, id), {}
  for i, field in ipairs(AMOUNT) do
    sum[i] = sum[i] + sign * amount[i]
    flat[#flat + 1], flat[#flat + 2] = field, int(sum[i])
  end
  -- Each reservation holds a slot; a slice holds none, but always something else.
  if sum[1] == 0 and sum[3] == 0 and sum[4] == 0 then
    redis.call('DEL', name)
  else
    redis.call('HSET', name, unpack(flat))
  end
end

-- Workspace and fleet are counted once a task, so that a re-run inherits them; the host once a reservation. The caller
-- stores that they are held.
local function hold_shared_scopes(task)
  if task.scope_held == '1' then return end
  add_to_sum('workspace', task.workspace, amount_in(task), 1)
  add_to_sum('fleet', 'all', amount_in(task), 1)
end

-- Answers what the caller stores of it. A RUNNING task has an open token.
local function free_shared_scopes(task)
  if task.scope_held ~= '1' or tonumber(task.open) > 0 then return task.scope_held end
  add_to_sum('workspace', task.workspace, amount_in(task), -1)
  add_to_sum('fleet', 'all', amount_in(task), -1)
  return '0'
end
