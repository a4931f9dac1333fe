-- L2, L3: only the current (boot, token, generation, fence) writes, and only while the boot's lease stands.
--- @include "boots"
local function same_grant(task, grant)
  return task.boot == grant.boot and task.token == grant.token and task.generation == grant.generation
    and task.fence == grant.fence
end

local function holds(task, grant)
  return task.status == 'RUNNING' and same_grant(task, grant) and boot_may_act(grant.boot)
end
