#!lua flags=no-writes
-- task-view: one task as status commands show it.
-- ARGV: workspace, task
-- Replies: {view} · {} where there is none
-- Keeps: W1
--- @include "begin"
--- @include "view"
local task = load_shown(ARGV[1], ARGV[2])
return task and { view_of(task) } or {}
