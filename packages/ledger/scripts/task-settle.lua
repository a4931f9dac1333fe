#!lua flags=allow-oom
-- task-settle: writes the terminal record of a run, once. The reservation drains until release.
-- ARGV: workspace, task, boot, token, generation, fence, status, outcome, finished event, output ('' for none),
--   log event that tells a drop no append could store, another, ...
-- Replies: {settled | already, promotions} · {fenced}
-- Keeps: T1 L2 L3 V1. Idempotent under re-send by the token that ended the task.
--- @include "begin"
--- @include "ending"
--- @include "holder"
local grant = { boot = ARGV[3], token = ARGV[4], generation = ARGV[5], fence = ARGV[6] }
local task = load_task(ARGV[1], ARGV[2])
local promotions = {}
if task and terminal(task) and task.ended_by == grant.token and same_grant(task, grant) then
  add_followers(task, promotions)
  add_heads(task, promotions)
  return { 'already', promotions }
end
if not task or not holds(task, grant) then return { 'fenced' } end

redis.call('HSET', key.reservation(grant.token), 'state', 'draining')
if ARGV[10] ~= '' then
  redis.call('SET', key.output(task.workspace, task.id), ARGV[10], 'PX', output_ms())
end
for i = 11, #ARGV do emit(task, ARGV[i], key.logs(task.workspace, task.id)) end
finish(task, ARGV[7], ARGV[8], ARGV[9], promotions, grant.token)
add_heads(task, promotions)
return { 'settled', promotions }
