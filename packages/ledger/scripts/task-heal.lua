#!lua flags=allow-oom
-- task-heal: PENDING tasks whose delivery should be looked at again; each is then not due for a while.
-- ARGV: limit
-- Replies: {{workspace, task, delivery, queue, job}, ...}
-- Keeps: T2. A reply that is lost delays a look, no more.
--- @include "begin"
local due = {}
for _, member in ipairs(redis.call('ZRANGE', key.healing, '-inf', int(now_ms), 'BYSCORE', 'LIMIT', 0, ARGV[1])) do
  local task = load_member(member)
  if task and task.status == 'PENDING' then
    redis.call('ZADD', key.healing, int(now_ms + HEALING_AGAIN_MS), member)
    due[#due + 1] = { task.workspace, task.id, task.delivery, task.queue, task.job }
  else
    redis.call('ZREM', key.healing, member)
  end
end
return due
