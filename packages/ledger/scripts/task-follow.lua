#!lua
-- task-follow: registers a job that waits for the task's end.
-- ARGV: workspace, task, queue, job
-- Replies: {waiting} · {done, outcome} · {unknown}
-- Keeps: W1. Idempotent under re-send: followers are a set.
--- @include "begin"
local task = load_task(ARGV[1], ARGV[2])
if not task then return { 'unknown' } end
if terminal(task) then return { 'done', task.outcome } end
redis.call('SADD', key.followers(task.workspace, task.id), ARGV[3] .. '\n' .. ARGV[4])
return { 'waiting' }
