#!lua flags=allow-oom
-- task-redeliver: counts a new delivery where the one seen is still current and the task waits.
-- ARGV: workspace, task, delivery seen, request id, reason
-- Replies: {redelivered, delivery, queue, job} · {overtaken}
-- Keeps: T2. Idempotent under re-send by the request id.
--- @include "begin"
--- @include "ending"
local task = load_task(ARGV[1], ARGV[2])
if not task then return { 'overtaken' } end
if task.redelivered_by ~= ARGV[4] then
  if task.status ~= 'PENDING' or task.delivery ~= ARGV[3] then return { 'overtaken' } end
  redeliver(task)
  set(task, { redelivered_by = ARGV[4], redelivered_for = ARGV[5] })
end
return { 'redelivered', task.delivery, task.queue, task.job }
