-- Whether older waiters of the fleet's list need the room that is free in a host.
--- @include "waiting"

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
-- list, so that a full workspace keeps nobody of another back; one that is too large for the fleet is passed over. One
-- of which the script cannot know keeps its room until the duty has looked at it.
local function goes_ahead_with_share(room, other)
  local workspace = other.workspace
  local free = free_in('workspace', workspace)
  room.own[workspace] = room.own[workspace] or { unpack(free) }
  local denied, unknown = room.turn[workspace], false
  if not denied then denied, unknown = denied_by_workspace(other, free) end
  if denied and not unknown then
    room.moved[#room.moved + 1] = other
    room.turn[workspace] = room.turn[workspace] or fits(amount_in(other), limits_of('workspace', workspace))
    return nil
  end
  if not fits(amount_in(other), room.limits) then return nil end
  if not unknown and denied_by_workspace(other, room.own[workspace]) then
    room.own[workspace] = { 0, 0, 0, 0 }
    return not room.held and workspace == room.task.workspace and other.wait_scope or nil
  end
  return goes_ahead(room, other)
end

-- The scope that keeps the task out of the room that is free in this host, since older waiters need it, or nil; and
-- the waiters that belong into the lists of their workspaces.
local function overtaken_in_fleet(task, host, free)
  local room = room_for(task, host, free)
  local first = first_of(key.waiters('fleet', 'all'))
  for i = 1, count_ahead(first, task) do
    local other = load_member(first.members[i])
    local by = other and (other.scope_held == '1' and goes_ahead or goes_ahead_with_share)(room, other)
    if by then return by, room.moved end
  end
  local own = room.own[task.workspace]
  if room.held or not own then return nil, room.moved end
  if room.turn[task.workspace] then return 'workspace', room.moved end
  return denied_by_workspace(task, own) and room.ahead[task.workspace] or nil, room.moved
end
