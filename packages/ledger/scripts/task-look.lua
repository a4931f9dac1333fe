#!lua flags=no-writes
-- task-look: whether a job of the task that was just put to sleep may go on at once. While it was still in a worker's
-- hands nobody could wake it.
-- ARGV: workspace, task
-- Replies: 1 where the task has ended, or waits and would be admitted by now, or moved on to the fleet's list; else 0
-- Keeps: C1 (by the rule of admit: a looser one would have the job fetched and put to sleep over and over)
--- @include "begin"
--- @include "elsewhere"
local task = load_task(ARGV[1], ARGV[2])
if not task then return 0 end
if terminal(task) then return 1 end
if not task.wait_scope then return 0 end

-- In its workspace's list though room lacks elsewhere by now: whoever frees that looks for it in the fleet's list.
-- Where a host keeps its room for an older one of the workspace, the task waits for that.
local function is_out_of_place()
  if task.wait_scope ~= 'workspace' then return false end
  for _, host in ipairs(redis.call('SMEMBERS', key.hosts)) do
    local free = free_in('host', host)
    local fits_in = could_serve(host, task) and fits(amount_in(task), free)
    if fits_in and overtaken_in_fleet(task, host, free) == 'workspace' then return false end
  end
  return true
end

local room = true
if task.scope_held ~= '1' then
  if denied_by_workspace(task, free_in('workspace', task.workspace)) then return 0 end
  room = fits(amount_in(task), free_in('fleet', 'all'))
end
return (room and boot_with_room(task, nil) or is_out_of_place()) and 1 or 0
