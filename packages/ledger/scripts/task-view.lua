#!lua flags=no-writes
-- task-view: tasks as status commands show them, newest first; one by its name, or the newest of a workspace.
-- ARGV: workspace, task ('' for the newest), limit
-- Replies: {view, ...}
-- Keeps: W1
--- @include "begin"
--- @include "view"
local ids = { ARGV[2] }
if ARGV[2] == '' then ids = redis.call('ZRANGE', key.index(ARGV[1]), 0, tonumber(ARGV[3]) - 1, 'REV') end
local views = {}
for _, id in ipairs(ids) do
  local task = load_task(ARGV[1], id)
  if task then views[#views + 1] = view_of(task) end
end
return views
