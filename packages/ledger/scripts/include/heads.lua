-- The next waiters to be woken: those that would be admitted now, by the rule of admit itself, so that nothing is
-- promoted into room that an older one needs.
--- @include "waiting"
local HEADS_MAX = 64
-- Looks in one pass at waiters behind the oldest.
local BY_TURNS_MAX = 16
local PASSES_MAX = 4

local function promotion(task)
  return { task.workspace, task.id, task.queue, task.job }
end

-- The oldest, and some of the others by turns: however many are passed over, they hide nobody for ever.
local function heads_of(list)
  local members = redis.call('ZRANGE', list, 0, OLDER_MAX - 1)
  local others = redis.call('ZCARD', list) - OLDER_MAX
  if others <= 0 then return members end
  local from = OLDER_MAX + tonumber(string.sub(now_us, -10)) % others
  for _, member in ipairs(redis.call('ZRANGE', list, from, from + BY_TURNS_MAX - 1)) do
    members[#members + 1] = member
  end
  return members
end

local function add_workspace_heads(workspace, promotions)
  local list, left = key.waiters('workspace', workspace), HEADS_MAX
  if redis.call('EXISTS', list) == 0 then return end
  local limits, free = limits_of('workspace', workspace), free_in('workspace', workspace)
  if free[1] < 1 then return end
  for _, member in ipairs(heads_of(list)) do
    if not may_look_at(member) then return end
    local task = load_member(member)
    if task and fits(amount_in(task), limits) then
      if left == 0 or not fits(amount_in(task), free) then return end
      take(amount_in(task), free)
      promotions[#promotions + 1] = promotion(task)
      left = left - 1
    end
  end
end

local function hosts_with_room()
  local hosts = {}
  for _, host in ipairs(redis.call('SMEMBERS', key.hosts)) do
    local free = free_in('host', host)
    if free[1] >= 1 and engine_healthy(host) and takes_tasks(host) and not shows_strangers(host) then
      hosts[#hosts + 1] = { id = host, free = free }
    end
  end
  return hosts
end

-- Takes room in the first host that has it. A waiter that finds none keeps back every host that could serve it,
-- as admit does with newcomers.
local function place(task, hosts)
  local amount, able = amount_in(task), {}
  for _, host in ipairs(hosts) do
    if not host.kept and could_serve(host.id, task) then
      if fits(amount, host.free) then
        take(amount, host.free)
        return true
      end
      able[#able + 1] = host
    end
  end
  for _, host in ipairs(able) do host.kept = true end
  return false
end

local function any_open(hosts)
  for _, host in ipairs(hosts) do
    if not host.kept and host.free[1] >= 1 then return true end
  end
  return false
end

-- Room that this run has promised to others may go to nobody: a waiter moves only where none is left without that.
local function move_to_workspace(task)
  local denied, unknown = denied_by_workspace(task, free_in('workspace', task.workspace))
  if not denied or unknown then return false end
  park(task, 'workspace')
  return true
end

-- One pass over the fleet's list. Answers whether it moved waiters to the lists of their workspaces and room is left.
local function place_heads(list, room, promotions)
  local moved = false
  for _, member in ipairs(heads_of(list)) do
    local task = load_member(member)
    if task and not room.placed[member] then
      local amount, held = amount_in(task), task.scope_held == '1'
      local own = room.workspaces[task.workspace] or free_in('workspace', task.workspace)
      room.workspaces[task.workspace] = own
      local denied, unknown = false, false
      if not held then denied, unknown = denied_by_workspace(task, own) end
      if denied and not unknown then
        moved = move_to_workspace(task) or moved
      elseif held or fits(amount, room.limits) then
        if not held and not fits(amount, room.free) then
          park(task, 'fleet')
          return false
        end
        if room.left == 0 then return false end
        if place(task, room.hosts) then
          if not held then
            take(amount, room.free)
            take(amount, own)
          end
          room.placed[member] = true
          if not unknown then
            room.left = room.left - 1
            promotions[#promotions + 1] = promotion(task)
          end
        end
        if not any_open(room.hosts) then return false end
      end
    end
  end
  return moved
end

-- Spends half of what a script may look at on the workspaces of the fleet's waiters, from a place that goes round.
local function look_by_turns()
  local members = heads_of(key.waiters('fleet', 'all'))
  for i = 1, #members do
    if looked_at >= LOOKED_AT_MAX / 2 then return end
    local task = load_member(members[(now_ms + i) % #members + 1])
    if task and task.scope_held ~= '1' then denied_by_workspace(task, free_in('workspace', task.workspace)) end
  end
end

local function add_fleet_heads(promotions)
  local list = key.waiters('fleet', 'all')
  if redis.call('EXISTS', list) == 0 then return end
  local room = {
    hosts = hosts_with_room(), limits = limits_of('fleet', 'all'), free = free_in('fleet', 'all'),
    workspaces = {}, placed = {}, left = HEADS_MAX,
  }
  for _ = 1, PASSES_MAX do
    if not any_open(room.hosts) or not place_heads(list, room, promotions) then return end
  end
end
