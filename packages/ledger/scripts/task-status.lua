#!lua flags=no-writes
-- task-status: one task as status commands show it, and where it waits what stands in its way now.
-- ARGV: workspace, task
-- Replies: {view} · {view, {scope, shortages, place, {{host, reason, shortages}, ...}, host it was sent to,
--   ms to the opening of grants, queue deadline}} for one that is PENDING · {} where there is none
--   (shortages: {amount, wanted, reserved, limit, ...}; place: {list, place, length} or {})
-- Keeps: W1
--- @include "begin"
--- @include "view"
--- @include "wait-details"
local task = load_shown(ARGV[1], ARGV[2])
if not task then return {} end
if task.status ~= 'PENDING' then return { view_of(task) } end
return { view_of(task), details_of(task) }
