#!lua flags=allow-oom
-- task-expire: ends PENDING tasks whose queue time-out has passed.
-- ARGV: limit, failure by JSON: queue timeout
-- Replies: {{{workspace, task}, ...}, promotions}
-- Keeps: T1 T2. Idempotent under re-send: what ended is not PENDING any more.
--- @include "begin"
--- @include "ending"
local ended, promotions, workspaces = {}, {}, {}
for _, member in ipairs(redis.call('ZRANGE', key.pending, '-inf', int(now_ms), 'BYSCORE', 'LIMIT', 0, ARGV[1])) do
  local task = load_member(member)
  if task and task.status == 'PENDING' then
    finish_unsettled(task, 'FAILED', ARGV[2], promotions)
    ended[#ended + 1] = { task.workspace, task.id }
    workspaces[task.workspace] = true
  else
    redis.call('ZREM', key.pending, member)
  end
end
add_heads_of(workspaces, promotions)
return { ended, promotions }
