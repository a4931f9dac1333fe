-- Waiting lists: one a workspace, and the fleet's for want of room in a host or in the fleet. A task waits in one
-- list; the oldest accepted is its head, and a newcomer is refused while an older one could take the same room.
--- @include "boots"
local OLDER_MAX = 64
local HEADS_MAX = 16

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
  clear(task, { 'wait_scope', 'wait_since_ms' })
end

local function park(task, scope)
  if task.wait_scope == scope then return end
  leave(task)
  if scope == 'workspace' then redis.call('SADD', key.waiting, task.workspace) end
  redis.call('ZADD', list_of(task, scope), task.accepted_us, task.member)
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

-- The scope of an older waiter that could take the room this host has, or nil.
local function overtaken_in_fleet(task, host)
  for _, member in ipairs(older_in(key.waiters('fleet', 'all'), task)) do
    local other = load_member(member)
    if other and (other.wait_scope == 'fleet' or could_serve(host, other)) then return other.wait_scope end
  end
  return nil
end

local function promotion(task)
  return { task.workspace, task.id, task.queue, task.job }
end

local function add_workspace_heads(workspace, promotions)
  local free = free_in('workspace', workspace)
  for _, member in ipairs(redis.call('ZRANGE', key.waiters('workspace', workspace), 0, HEADS_MAX - 1)) do
    local task = load_member(member)
    if task and task.scope_held ~= '1' then
      if not fits(amount_in(task), free) then return end
      take(amount_in(task), free)
    end
    if task then promotions[#promotions + 1] = promotion(task) end
  end
end

local function hosts_with_room()
  local hosts = {}
  for _, host in ipairs(redis.call('SMEMBERS', key.hosts)) do
    if engine_healthy(host) and takes_tasks(host) and not shows_strangers(host) then
      hosts[#hosts + 1] = { id = host, free = free_in('host', host) }
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

local function add_fleet_heads(promotions)
  local members = redis.call('ZRANGE', key.waiters('fleet', 'all'), 0, OLDER_MAX - 1)
  if #members == 0 then return end
  local hosts, free, left = hosts_with_room(), free_in('fleet', 'all'), HEADS_MAX
  for _, member in ipairs(members) do
    local task = load_member(member)
    if task then
      local held = task.scope_held == '1'
      if left == 0 or (not held and not fits(amount_in(task), free)) then return end
      if place(task, hosts) then
        if not held then take(amount_in(task), free) end
        promotions[#promotions + 1] = promotion(task)
        left = left - 1
      end
    end
  end
end

local function add_heads(task, promotions)
  add_workspace_heads(task.workspace, promotions)
  add_fleet_heads(promotions)
end
