#!lua flags=allow-oom
-- task-admit: grants one attempt of a task to a boot, or says why not. A denial changes only the waiting list, or
-- sends the task to a boot of another host that has room.
-- ARGV: workspace, task, boot, host, delivery, sandbox, token
-- Replies: {granted, token, sandbox, attempt, generation, fence, accepted_ms, granted_ms, sequence, body}
--   · {done, outcome, promotions} · {parked, scope, promotions} · {elsewhere, delivery, queue, job, promotions}
--   · {draining, boot | host} · {busy | stale | closed | fenced}
-- Keeps: C1 C2 L1 L3 G1 T1. Idempotent under re-send by the owner token; a later admit for the same boot and
-- delivery gets the old grant.
--- @include "begin"
--- @include "elsewhere"
--- @include "ending"
--- @include "fence"
--- @include "grants"
--- @include "yielding"
local workspace, id, boot, host, delivery = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local sandbox, token = ARGV[6], ARGV[7]

local function granted(task)
  return {
    'granted', task.token, task.sandbox, task.attempt, task.generation, task.fence, task.accepted_ms, task.granted_ms,
    task.sequence, redis.call('GET', key.body(workspace, id)),
  }
end

local function elsewhere(task, promotions)
  return { 'elsewhere', task.delivery, task.queue, task.job, promotions }
end

local task = load_task(workspace, id)
if task and terminal(task) then return { 'done', task.outcome, {} } end
if task and task.moved_by == token and task.moved_as == task.delivery and task.status == 'PENDING' then
  return elsewhere(task, {})
end
-- A token stands for one admit: spent or lent elsewhere, it can only belong to a delayed copy.
if not task then return { 'stale' } end
local spent_or_lent = redis.call('EXISTS', key.gone(token), key.reservation(token)) > 0
if spent_or_lent and not (task.status == 'RUNNING' and task.token == token) then return { 'stale' } end
if task.delivery ~= delivery then return { 'stale' } end
local acting = redis.call('HMGET', key.boot(boot), 'state', 'lease_ends_ms', 'host')
if not lease_stands(acting[1], acting[2]) or acting[3] ~= host then return { 'fenced' } end
if task.status == 'RUNNING' then
  if task.boot == boot then return granted(task) end
  return { 'busy' }
end

--- @rare
local function refuse(failure)
  local promotions = {}
  finish_unsettled(task, 'FAILED', failure, promotions)
  add_heads(task, promotions)
  return { 'done', task.outcome, promotions }
end

local deadline = redis.call('ZSCORE', key.pending, task.member)
if deadline and now_ms >= tonumber(deadline) then return refuse(QUEUE_TIMEOUT) end
if acting[1] == 'DRAINING' then return { 'draining', 'boot' } end
local drains, healthy = condition_of(host)
if drains then return { 'draining', 'host' } end
if not grants_open() or shows_strangers(host) then return { 'closed' } end

-- Why no host can ever run it, as a failure. What was small enough when it was accepted waits: a limit that was lowered
-- ends nothing.
--- @rare
local function failure_of()
  local refusal = refusal_of(task)
  if refusal == 'image' then return IMAGE_NOT_ALLOWED end
  if refusal == 'runtime' then return CAPABILITY_ABSENT end
  return refusal == 'resources' and task.judged ~= '1' and RESOURCES_TOO_LARGE
end

local able = could_serve(host, task)
local failure = not able and failure_of()
if failure then return refuse(failure) end

-- Workspace before fleet before host; a task that holds workspace and fleet from an earlier attempt keeps them.
local amount, held = amount_in(task), task.scope_held == '1'

--- @rare
local function denied_beside_waiters()
  if not held and denied_by_workspace(task, free_in('workspace', workspace)) then return 'workspace' end
  if not held and not fits(amount, free_in('fleet', 'all')) then return 'fleet' end
  if not able or not healthy then return 'host' end
  local free = free_in('host', host)
  if not fits(amount, free) then return 'host' end
  local by, moved = overtaken_in_fleet(task, host, free)
  for _, other in ipairs(moved) do park(other, 'workspace') end
  return by
end

local function denied()
  if redis.call('EXISTS', key.waiters('workspace', workspace), key.waiters('fleet', 'all')) > 0 then
    return denied_beside_waiters()
  end
  if not held and not fits(amount, free_in('workspace', workspace)) then return 'workspace' end
  if not held and not fits(amount, free_in('fleet', 'all')) then return 'fleet' end
  if not able or not healthy or not fits(amount, free_in('host', host)) then return 'host' end
end

--- @rare
local function turn_away(scope)
  local other, promotions = scope == 'host' and boot_with_room(task, host), {}
  -- Room that was kept here for a task on its way is nobody's now: an older one may have lain down meanwhile.
  local kept_room = boot_of_queue(task.queue) == boot
  if other then
    leave(task)
    follow_plain_job(task)
    redeliver(task, boot_queue(other))
    set(task, { moved_by = token, moved_as = task.delivery })
    if kept_room then add_fleet_heads(promotions) end
    return elsewhere(task, promotions)
  end
  park(task, scope)
  if scope == 'host' then want_pool_back(task, host) end
  if kept_room then add_fleet_heads(promotions) end
  return { 'parked', scope, promotions }
end

local scope = denied()
if scope then return turn_away(scope) end

leave(task)
leave_route(task)
hold_shared_scopes(task)
add_to_sum('host', host, amount, 1)
local attempt = int(tonumber(task.attempt) + 1)
local fence = next_fence()
set(task, {
  status = 'RUNNING', boot = boot, host = host, token = token, sandbox = sandbox, attempt = attempt,
  generation = attempt, fence = fence, granted_ms = int(now_ms), open = int(tonumber(task.open) + 1),
  scope_held = '1',
})
redis.call('HSET', key.reservation(token),
  'state', 'pending', 'boot', boot, 'host', host, 'workspace', workspace, 'task', id, 'sandbox', sandbox,
  'attempt', attempt, 'slots', task.slots, 'cpu_milli', task.cpu_milli, 'memory_mb', task.memory_mb, 'pids', task.pids)
redis.call('SADD', key.reservations, token)
redis.call('SADD', key.boot_tokens(boot), token)
add_queued(task, -1)
redis.call('ZREM', key.pending, task.member)
redis.call('ZREM', key.healing, task.member)
return granted(task)
