-- Who goes on where a task has freed room. Nobody waits behind most tasks, and then nothing of how is built.
--- @include "heads"
--- @rare
local function add_heads_of_both(workspace, promotions)
  add_workspace_heads(workspace, promotions)
  add_fleet_heads(promotions)
end

local function add_heads(task, promotions)
  local waits = redis.call('EXISTS', key.waiters('workspace', task.workspace), key.waiters('fleet', 'all')) > 0
  if waits then add_heads_of_both(task.workspace, promotions) end
end

-- Where one script has ended several tasks; `workspaces` has theirs as keys.
local function add_heads_of(workspaces, promotions)
  for workspace in pairs(workspaces) do add_workspace_heads(workspace, promotions) end
  if next(workspaces) then add_fleet_heads(promotions) end
end
