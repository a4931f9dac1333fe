-- Waiting lists: one a workspace, and the fleet's for want of room in a host or in the fleet. A task waits in one
-- list; the oldest accepted is its head, and a newcomer is refused while an older one could take the same room. A
-- waiter that alone exceeds a limit, which was lowered since, is passed over: it keeps nobody back.
--- @include "backlog"
--- @include "boots"
local OLDER_MAX = 64
-- Waiters of workspaces, and tasks sent to boots, that one script loads at most: however many are passed over,
-- none holds Redis up.
local LOOKED_AT_MAX = 256
local looked_at = 0
-- By key, as far as a script has read them; forgotten where one comes or goes.
local lists = {}

local function list_of(task, scope)
  if scope == 'workspace' then return key.waiters('workspace', task.workspace) end
  return key.waiters('fleet', 'all')
end

local function leave(task)
  if not task.wait_scope then return end
  local list = list_of(task, task.wait_scope)
  redis.call('ZREM', list, task.member)
  lists[list] = nil
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
  local list = list_of(task, scope)
  redis.call('ZADD', list, task.accepted_us, task.member)
  lists[list] = nil
  add_waiting(scope, 1)
  set(task, { wait_scope = scope, wait_since_ms = int(now_ms) })
end

-- Whether the script may look at one more waiter of a workspace.
local function may_look_at(member)
  if loaded[member] ~= nil then return true end
  if looked_at == LOOKED_AT_MAX then return false end
  looked_at = looked_at + 1
  return true
end

-- The first of a list; `asked[n]` is what the first n of a workspace's ask for together, those passed over left out.
local function first_of(list)
  if lists[list] then return lists[list] end
  local first = { members = {}, scores = {}, ahead = {}, asked = { [0] = { 0, 0, 0, 0 } } }
  local flat = redis.call('ZRANGE', list, 0, OLDER_MAX - 1, 'WITHSCORES')
  for i = 1, #flat, 2 do
    first.members[#first.members + 1] = flat[i]
    first.scores[#first.scores + 1] = tonumber(flat[i + 1])
  end
  lists[list] = first
  return first
end

-- How many of the first are ahead of the task, whether or not it waits there itself.
local function count_ahead(first, task)
  local count, mine = first.ahead[task.member], tonumber(task.accepted_us)
  if count then return count end
  count = 0
  for i, score in ipairs(first.scores) do
    if score > mine or (score == mine and first.members[i] >= task.member) then break end
    count = i
  end
  first.ahead[task.member] = count
  return count
end

-- Adds the next of a workspace's list to `asked`. Answers whether the script may look at it.
local function ask_next(first, workspace)
  local count = #first.asked
  local member = first.members[count + 1]
  if not may_look_at(member) then return false end
  local other, asked = load_member(member), { unpack(first.asked[count]) }
  local amount = other and amount_in(other)
  if amount and fits(amount, limits_of('workspace', workspace)) then
    for i = 1, #AMOUNT do asked[i] = asked[i] + amount[i] end
  end
  first.asked[count + 1] = asked
  return true
end

-- Whether the room that is free in the workspace is too little for a task that holds none of it yet and the older ones
-- that wait for it there. The second answer tells that this is not known, since the script has looked at enough; it
-- never is so of the workspace that a script asks for first.
local function denied_by_workspace(task, free)
  local amount = amount_in(task)
  if not fits(amount, free) then return true, false end
  local first = first_of(key.waiters('workspace', task.workspace))
  local count = count_ahead(first, task)
  for i = math.min(#first.asked, count), count do
    if i > #first.asked and not ask_next(first, task.workspace) then return true, true end
    local room = { unpack(free) }
    take(first.asked[i], room)
    if not fits(amount, room) then return true, false end
  end
  return false, false
end
