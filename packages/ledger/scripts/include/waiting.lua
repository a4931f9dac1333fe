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

-- Whether the room that is free in the workspace is too little for a task that holds none of it yet and the older ones
-- that wait for it there.
local function denied_by_workspace(task, free)
  local amount, room, limits = amount_in(task), { unpack(free) }, nil
  if not fits(amount, room) then return true end
  for _, member in ipairs(older_in(key.waiters('workspace', task.workspace), task)) do
    local other = load_member(member)
    limits = limits or limits_of('workspace', task.workspace)
    if other and fits(amount_in(other), limits) then
      take(amount_in(other), room)
      if not fits(amount, room) then return true end
    end
  end
  return false
end

-- What is left beside older waiters of the fleet's list, as far as they were looked at.
local function room_for(task, host, free)
  local room = { task = task, amount = amount_in(task), held = task.scope_held == '1', host = host }
  room.free, room.fleet, room.limits = { unpack(free) }, free_in('fleet', 'all'), limits_of('fleet', 'all')
  room.moved, room.own, room.turn, room.ahead = {}, {}, {}, {}
  return room
end

-- An older waiter takes its share. Answers its scope where the task has to wait for it.
local function goes_ahead(room, other)
  local amount, shares, workspace = amount_in(other), other.scope_held ~= '1', other.workspace
  local here = could_serve(room.host, other)
  if not here and other.wait_scope ~= 'fleet' then return nil end
  if shares and not fits(amount, room.fleet) then return other.wait_scope end
  if here and not fits(amount, room.free) then return other.wait_scope end
  if here then take(amount, room.free) end
  if shares then
    take(amount, room.fleet)
    take(amount, room.own[workspace])
    room.ahead[workspace] = other.wait_scope
  end
  if not fits(room.amount, room.free) then return other.wait_scope end
  return not room.held and not fits(room.amount, room.fleet) and other.wait_scope or nil
end

-- The same of a waiter that holds nothing of its workspace yet: one that the workspace has no room for moves to that
-- list, so that a full workspace keeps nobody of another back; one that is too large for the fleet is passed over.
local function goes_ahead_with_share(room, other)
  local workspace = other.workspace
  local free = free_in('workspace', workspace)
  room.own[workspace] = room.own[workspace] or { unpack(free) }
  if room.turn[workspace] or denied_by_workspace(other, free) then
    room.moved[#room.moved + 1] = other
    room.turn[workspace] = room.turn[workspace] or fits(amount_in(other), limits_of('workspace', workspace))
    return nil
  end
  if not fits(amount_in(other), room.limits) then return nil end
  if denied_by_workspace(other, room.own[workspace]) then
    room.own[workspace] = { 0, 0, 0, 0 }
    return not room.held and workspace == room.task.workspace and other.wait_scope or nil
  end
  return goes_ahead(room, other)
end

-- The scope that keeps the task out of the room that is free in this host, since older waiters need it, or nil; and
-- the waiters that belong into the lists of their workspaces.
local function overtaken_in_fleet(task, host, free)
  local room = room_for(task, host, free)
  for _, member in ipairs(older_in(key.waiters('fleet', 'all'), task)) do
    local other = load_member(member)
    local by = other and (other.scope_held == '1' and goes_ahead or goes_ahead_with_share)(room, other)
    if by then return by, room.moved end
  end
  local own = room.own[task.workspace]
  if room.held or not own then return nil, room.moved end
  if room.turn[task.workspace] then return 'workspace', room.moved end
  return denied_by_workspace(task, own) and room.ahead[task.workspace] or nil, room.moved
end
