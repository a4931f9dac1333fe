#!lua flags=allow-oom
-- task-heads: the oldest waiters of each scope that have room now.
-- Replies: promotions
-- Keeps: C1 (by the rule of admit). Idempotent: what was moved to the list of its workspace waits there.
--- @include "begin"
--- @include "heads"
local promotions = {}
look_by_turns()
for _, workspace in ipairs(redis.call('SRANDMEMBER', key.waiting, 64)) do
  add_workspace_heads(workspace, promotions)
end
add_fleet_heads(promotions)
return promotions
