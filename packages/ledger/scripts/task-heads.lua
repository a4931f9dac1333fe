#!lua flags=no-writes
-- task-heads: the oldest waiters of each scope that have room now.
-- Replies: promotions
-- Keeps: C1 (by the rule of admit)
--- @include "begin"
--- @include "waiting"
local promotions = {}
for _, workspace in ipairs(redis.call('SRANDMEMBER', key.waiting, 64)) do
  add_workspace_heads(workspace, promotions)
end
add_fleet_heads(promotions)
return promotions
