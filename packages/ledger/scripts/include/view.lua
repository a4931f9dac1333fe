-- A task as status commands show it, and why it waits. Reads only.
--- @include "boots"
local function wait_reason(task)
  local served, healthy, open = false, false, false
  for _, host in ipairs(redis.call('SMEMBERS', key.hosts)) do
    if offers(host, task) and takes_tasks(host) then
      served = true
      healthy = healthy or engine_healthy(host)
      open = open or (engine_healthy(host) and not shows_strangers(host))
    end
  end
  if not served then return 'no_worker' end
  if not healthy then return 'engine_unavailable' end
  if not open or now_ms < tonumber(redis.call('HGET', key.fleet, 'grants_open_at_ms') or '0') then
    return 'grants_closed'
  end
  if task.wait_scope then return task.wait_scope .. '_full' end
  return tonumber(task.attempt) > 0 and 'requeued' or 'queued'
end

local function view_of(task)
  local pending = task.status == 'PENDING'
  return {
    task.workspace, task.id, task.status, task.attempt, task.delivery, task.image, task.cancel, task.accepted_ms,
    pending and wait_reason(task) or '', task.wait_since_ms or task.pending_since_ms,
    task.status == 'RUNNING' and task.host or '', task.sequence, task.outcome or '',
  }
end
