-- Routes: the queue that a task's current delivery was sent to. A boot that is the route of a PENDING task is named
-- by it, so that the task is found again when the boot dies.
--- @include "tombstones"
local BOOT_QUEUE = 'boot.'

local function boot_queue(boot)
  return BOOT_QUEUE .. boot
end

local function boot_of_queue(queue)
  if string.sub(queue, 1, #BOOT_QUEUE) ~= BOOT_QUEUE then return nil end
  return string.sub(queue, #BOOT_QUEUE + 1)
end

local function leave_route(task)
  local boot = boot_of_queue(task.queue)
  if boot and redis.call('SREM', key.boot_routes(boot), task.member) == 1 then let_tombstone_go(boot) end
end

-- `home` is the queue the task came by, kept while its route is a boot's own.
local function set_route(task, queue)
  if queue == task.queue then return end
  leave_route(task)
  local boot = boot_of_queue(queue)
  if boot then redis.call('SADD', key.boot_routes(boot), task.member) end
  set(task, { queue = queue, home = boot_of_queue(task.queue) and (task.home or queue) or task.queue })
end
