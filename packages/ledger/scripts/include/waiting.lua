-- Waiting lists: one a workspace, and the fleet's for want of room in a host or in the fleet. A task waits in one
-- list; the oldest accepted is its head, and a newcomer is refused while an older one could take the same room. A
-- waiter that alone exceeds a limit, which was lowered since, is passed over: it keeps nobody back.
--- @include "backlog"
--- @include "boots"
local OLDER_MAX = 64

local function list_of(task, scope)
  if scope == 'workspace' then return key.waiters('workspace', task.workspace) end
  return key.waiters('fleet', 'all')
end

local function leave(task)
  if not task.wait_scope then return end
  local list = list_of(task, task.wait_scope)
  redis.call('ZREM', list, task.member)
  if task.wait_scope == 'workspace' and redis.call('EXISTS', list) == 0 then
    redis.call('SREM', key.waiting, task.workspace)
  end
  add_waiting(task.wait_scope, -1)
  clear(task, { 'wait_scope', 'wait_since_ms' })
end

local function park(task, scope)
  if task.wait_scope == scope then return end
  leave(task)
  if scope == 'workspace' then redis.call('SADD', key.waiting, task.workspace) end
  redis.call('ZADD', list_of(task, scope), task.accepted_us, task.member)
  add_waiting(scope, 1)
  set(task, { wait_scope = scope, wait_since_ms = int(now_ms) })
end

-- Members of a list ahead of the task, oldest first, whether or not it waits there itself.
local function older_in(list, task)
  local older = {}
  local flat = redis.call('ZRANGE', list, 0, OLDER_MAX - 1, 'WITHSCORES')
  for i = 1, #flat, 2 do
    local score, mine = tonumber(flat[i + 1]), tonumber(task.accepted_us)
    if score > mine or (score == mine and flat[i] >= task.member) then break end
    older[#older + 1] = flat[i]
  end
  return older
end

-- Whether an older task waits for room in the workspace and could have it under the present limits.
local function overtaken_in_workspace(task)
  local limits = nil
  for _, member in ipairs(older_in(key.waiters('workspace', task.workspace), task)) do
    local other = load_member(member)
    limits = limits or limits_of('workspace', task.workspace)
    if other and fits(amount_in(other), limits) then return true end
  end
  return false
end

-- `free` is the room left in the workspace of a task that holds none of it yet.
local function denied_by_workspace(task, free)
  return overtaken_in_workspace(task) or not fits(amount_in(task), free)
end

-- The scope that keeps the task out of this host for the sake of an older waiter, or nil. Those whose own workspace
-- denies them by now keep nobody of another back: they are answered as well, to be moved to their workspace's list.
local function overtaken_in_fleet(task, host)
  local limits, moved, turn = limits_of('fleet', 'all'), {}, {}
  for _, member in ipairs(older_in(key.waiters('fleet', 'all'), task)) do
    local other = load_member(member)
    if other then
      local held, workspace = other.scope_held == '1', other.workspace
      if not held and (turn[workspace] or denied_by_workspace(other, free_in('workspace', workspace))) then
        moved[#moved + 1] = other
        turn[workspace] = turn[workspace] or fits(amount_in(other), limits_of('workspace', workspace))
      elseif (held or fits(amount_in(other), limits)) and (other.wait_scope == 'fleet' or could_serve(host, other)) then
        return other.wait_scope, moved
      end
    end
  end
  local waits = task.scope_held ~= '1' and (turn[task.workspace] or overtaken_in_workspace(task))
  return waits and 'workspace' or nil, moved
end
