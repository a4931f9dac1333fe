#!lua flags=allow-oom
-- task-cancel: ends a PENDING task at once, flags a RUNNING one and rings its boot.
-- ARGV: workspace, task, failure by JSON: cancelled
-- Replies: {cancelled, outcome, promotions} · {requested} · {finished, outcome} · {unknown}
-- Keeps: T1 T3 W1. Idempotent under re-send: a task cancelled before answers as before.
--- @include "begin"
--- @include "ending"
local task = load_task(ARGV[1], ARGV[2])
if not task then return { 'unknown' } end
if task.status == 'CANCELLED' then return { 'cancelled', task.outcome, {} } end
if terminal(task) then return { 'finished', task.outcome } end
if task.status == 'RUNNING' then
  set(task, { cancel = '1' })
  redis.call('PUBLISH', key.bell(task.boot), 'cancel')
  return { 'requested' }
end
local promotions = {}
set(task, { cancel = '1' })
finish_unsettled(task, 'CANCELLED', ARGV[3], promotions)
return { 'cancelled', task.outcome, promotions }
