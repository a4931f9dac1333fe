#!lua flags=no-writes
-- task-look: whether a job of the task that was just put to sleep may go on at once. While it was still in a worker's
-- hands nobody could wake it.
-- ARGV: workspace, task
-- Replies: 1 where the task has ended, or waits and would be admitted by now; else 0
-- Keeps: C1 (by the rule of admit: a looser one would have the job fetched and put to sleep over and over)
--- @include "begin"
--- @include "elsewhere"
local task = load_task(ARGV[1], ARGV[2])
if not task then return 0 end
if terminal(task) then return 1 end
if not task.wait_scope then return 0 end
if task.scope_held ~= '1' then
  if denied_by_workspace(task, free_in('workspace', task.workspace)) then return 0 end
  if not fits(amount_in(task), free_in('fleet', 'all')) then return 0 end
end
return boot_with_room(task, nil) and 1 or 0
