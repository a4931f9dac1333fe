-- What a workspace and the fleet have accepted: tasks that are PENDING, bytes of the bodies of all that have not ended,
-- and, for the fleet, how many wait for want of room in which scope. Kept incrementally and recountable.
--- @include "amount"

-- Each task has a body: at no bytes nothing is unfinished, and the record goes.
local function add_bytes(scope, id, bytes)
  local name = key.backlog(scope, id)
  local sum = redis.call('HINCRBY', name, 'pending_bytes', int(bytes))
  if sum == 0 then redis.call('DEL', name) end
  return sum
end

local function add_queued(task, count)
  redis.call('HINCRBY', key.backlog('workspace', task.workspace), 'queued', count)
  redis.call('HINCRBY', key.backlog('fleet', 'all'), 'queued', count)
end

local function add_waiting(scope, count)
  redis.call('HINCRBY', key.backlog('fleet', 'all'), 'waiting_' .. scope, count)
end

-- Workspaces that have limits or unfinished tasks.
local function list_workspace(workspace)
  if redis.call('EXISTS', key.limits('workspace', workspace), key.backlog('workspace', workspace)) == 0 then
    redis.call('SREM', key.workspaces, workspace)
  else
    redis.call('SADD', key.workspaces, workspace)
  end
end

-- {queued, bytes}
local function backlog_of(scope, id)
  local kept = redis.call('HMGET', key.backlog(scope, id), 'queued', 'pending_bytes')
  return { tonumber(kept[1] or '0'), tonumber(kept[2] or '0') }
end

local function add_first(task, scope, id, kept)
  local bytes = int(kept[2] + task.body_bytes)
  redis.call('HSET', key.backlog(scope, id), 'queued', int(kept[1] + 1), 'pending_bytes', bytes)
end

-- `own` and `all` are what the workspace and the fleet have accepted before.
local function begin_backlog(task, own, all)
  add_first(task, 'workspace', task.workspace, own)
  add_first(task, 'fleet', 'all', all)
  if own[2] == 0 then
    list_workspace(task.workspace)
    redis.call('SADD', key.retained, task.workspace)
  end
end

-- Answers whether it was the last unfinished task of its workspace.
local function end_backlog(task)
  if task.status == 'PENDING' then add_queued(task, -1) end
  local last = add_bytes('workspace', task.workspace, -tonumber(task.body_bytes)) == 0
  add_bytes('fleet', 'all', -tonumber(task.body_bytes))
  if last then list_workspace(task.workspace) end
  return last
end

-- Bodies of a workspace have a bound also where none is set.
local function pending_bytes_max(scope, limits)
  return limits.pending_bytes or (scope == 'workspace' and BODIES_BYTES_MAX) or math.huge
end

-- What in a task is larger than a scope allows it alone, {scope, limit, allowed, asked}, or nil. No room to come could
-- help it. A limit of no slots is a pause, and refuses nothing.
local function larger_than_scope(task, scope, id)
  local limits, amount = limits_of(scope, id), amount_in(task)
  for i = 2, #AMOUNT do
    if amount[i] > limits[i] then return { scope, AMOUNT[i], int(limits[i]), int(amount[i]) } end
  end
  local bytes_max = pending_bytes_max(scope, limits)
  if tonumber(task.body_bytes) > bytes_max then return { scope, 'pending_bytes', int(bytes_max), task.body_bytes } end
  return nil
end

-- What a scope has too much of to take one more task, {scope, limit, allowed}, or nil.
local function full_backlog(task, scope, id, kept)
  local limits = limits_of(scope, id)
  if limits.queued and kept[1] + 1 > limits.queued then return { scope, 'queued', int(limits.queued) } end
  local bytes_max = pending_bytes_max(scope, limits)
  if kept[2] + task.body_bytes > bytes_max then
    return { scope, 'pending_bytes', int(bytes_max) }
  end
  return nil
end
