#!lua
-- task-accept: takes a task into the ledger, or finds the one of this name. Refused when Redis is out of memory.
-- ARGV: workspace, task, digest, body, image, runtime, slots, cpu_milli, memory_mb, pids, attempts_max,
--   queue_timeout_ms, queue, job ('' where the job is the delivery's own)
-- Replies: {accepted | existing, delivery, queue, job, status}
--   · {conflict} · {refused, image | runtime | resources, runtime that is there, ...}
--   · {refused, larger, scope, limit, allowed, asked} · {refused, full, scope, limit, allowed}
-- Keeps: T2 (by name and digest; also idempotent under re-send by them), Q1, and the backlog's limits
--- @include "begin"
--- @include "events"
--- @include "backlog"
--- @include "boots"
-- At one call in ten.
local OLDEST_LOOKED_AT = 40

--- @rare
local function refused(task, refusal)
  return { 'refused', refusal, unpack(runtimes_for(task.image)) }
end

--- @rare
local function forget_expired(workspace, index)
  local oldest, names = redis.call('ZRANGE', index, 0, OLDEST_LOOKED_AT - 1), {}
  for i = 1, #oldest do names[i] = key.task(workspace, oldest[i]) end
  if #names == 0 or redis.call('EXISTS', unpack(names)) == #names then return end
  for i, name in ipairs(names) do
    if redis.call('EXISTS', name) == 0 then redis.call('ZREM', index, oldest[i]) end
  end
end

local workspace, id, digest, body = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local known = load_task(workspace, id)
if known then
  if known.digest ~= digest then return { 'conflict' } end
  return { 'existing', known.delivery, known.queue, known.job, known.status }
end

local task = {
  digest = digest, image = ARGV[5], runtime = ARGV[6],
  slots = ARGV[7], cpu_milli = ARGV[8], memory_mb = ARGV[9], pids = ARGV[10],
  attempts_max = ARGV[11], queue_timeout_ms = ARGV[12], queue = ARGV[13], body_bytes = int(#body),
}
local refusal, hosts = refusal_of(task)
if refusal then return refused(task, refusal) end
local larger = larger_than_scope(task, 'workspace', workspace) or larger_than_scope(task, 'fleet', 'all')
if larger then return { 'refused', 'larger', unpack(larger) } end
local own, all = backlog_of('workspace', workspace), backlog_of('fleet', 'all')
local full = full_backlog(task, 'workspace', workspace, own) or full_backlog(task, 'fleet', 'all', all)
if full then return { 'refused', 'full', unpack(full) } end

-- The oldest records of the index may have expired; some now and then keep it small.
local index = key.index(workspace)
if string.sub(now_us, -1) == '0' then forget_expired(workspace, index) end

task.workspace, task.id, task.name, task.member = workspace, id, key.task(workspace, id), workspace .. '.' .. id
redis.call('DEL', key.body(workspace, id), key.events(workspace, id), key.logs(workspace, id),
  key.marks(workspace, id), key.output(workspace, id), key.followers(workspace, id))
task.attempt, task.sequence = '0', '0'
emit_state(task, '{"kind":"task_accepted"}')
create(task, {
  digest = digest, image = task.image, runtime = task.runtime, slots = task.slots, cpu_milli = task.cpu_milli,
  memory_mb = task.memory_mb, pids = task.pids, attempts_max = task.attempts_max,
  queue_timeout_ms = task.queue_timeout_ms, queue = task.queue,
  status = 'PENDING', accepted_us = now_us, accepted_ms = int(now_ms), pending_since_ms = int(now_ms),
  delivery = '1', job = ARGV[14] ~= '' and ARGV[14] or job_of(task, '1'), attempt = task.attempt, counted = '0',
  hand_backs = '0', generation = '0', sequence = task.sequence, cancel = '0', ran = '0', scope_held = '0', open = '0',
  judged = hosts > 0 and '1' or '0', body_bytes = task.body_bytes, log_bytes = '0', log_cut_bytes = '0',
  log_marked_bytes = '0',
})
redis.call('SET', key.body(workspace, id), body)
begin_backlog(task, own, all)
redis.call('ZADD', index, int(now_ms), id)
if own[2] == 0 then redis.call('PERSIST', index) end
redis.call('ZADD', key.pending, int(now_ms + tonumber(task.queue_timeout_ms)), task.member)
redis.call('ZADD', key.healing, int(now_ms + HEALING_FIRST_MS), task.member)
return { 'accepted', task.delivery, task.queue, task.job, task.status }
