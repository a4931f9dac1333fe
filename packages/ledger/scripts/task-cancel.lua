#!lua flags=allow-oom
-- task-cancel: ends a PENDING task at once, and one whose boot is DEAD, for nobody else can end it any more; flags a
-- RUNNING one and rings its boot.
-- ARGV: workspace, task, failure by JSON: cancelled
-- Replies: {cancelled, outcome, promotions} · {requested} · {finished, outcome} · {unknown}
-- Keeps: T1 T3 W1. Idempotent under re-send: a task cancelled before answers as before.
--- @include "begin"
--- @include "ending"
local task = load_task(ARGV[1], ARGV[2])
if not task then return { 'unknown' } end
local promotions = {}
if task.status == 'CANCELLED' then
  add_followers(task, promotions)
  promotions[#promotions + 1] = promotion(task)
  add_heads(task, promotions)
  return { 'cancelled', task.outcome, promotions }
end
if terminal(task) then return { 'finished', task.outcome } end
set(task, { cancel = '1' })
if task.status == 'RUNNING' then
  if redis.call('HGET', key.boot(task.boot), 'state') ~= 'DEAD' then
    redis.call('PUBLISH', key.bell(task.boot), 'cancel')
    return { 'requested' }
  end
  redis.call('HSET', key.reservation(task.token), 'state', 'draining')
end
finish_unsettled(task, 'CANCELLED', ARGV[3], promotions)
add_heads(task, promotions)
return { 'cancelled', task.outcome, promotions }
