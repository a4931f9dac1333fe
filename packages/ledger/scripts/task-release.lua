#!lua flags=allow-oom
-- task-release: gives capacity back after proof that the sandbox is gone. A task still RUNNING under the token is
-- requeued here: counted where user code may have started, a hand-back where not.
-- ARGV: workspace, task, token, boot
-- Replies: {released | already, promotions, delivery, queue, job} ('' thrice where nothing was requeued)
-- Keeps: C1 C2 T2. Idempotent under re-send: a spent token is remembered with what it requeued. It needs no lease:
-- proof counts whoever brings it.
--- @include "begin"
--- @include "freeing"
local workspace, id, token, boot = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local reservation = record(key.reservation(token))
local mine = reservation and reservation.boot == boot and reservation.workspace == workspace and reservation.task == id
local task = load_task(workspace, id)
if not mine or not task then
  local requeued = redis.call('GET', key.gone(token))
  local owner, delivery = string.match(requeued or '', '^(%S+) (%d+)$')
  if task and owner == boot then
    return { 'already', {}, delivery, task.queue, job_of(task, delivery) }
  end
  return { 'already', {}, '', '', '' }
end

--- @rare
local function give_back_lost(promotions)
  local failures = { cancelled = CANCELLED, exhausted = LOST_EXHAUSTED, unavailable = LOST_UNAVAILABLE }
  give_back(task, reservation.state == 'active', LOST_EVENT, failures, promotions)
  return terminal(task) and '' or task.delivery
end

local promotions, delivery = {}, ''
if task.status == 'RUNNING' and task.token == token then delivery = give_back_lost(promotions) end
spend(token, reservation, task, delivery)
add_heads(task, promotions)
return { 'released', promotions, delivery, delivery ~= '' and task.queue or '', delivery ~= '' and task.job or '' }
