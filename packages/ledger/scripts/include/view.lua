-- A task as status commands show it, and why it waits. Reads only.
--- @include "routes"
--- @include "wait-reason"

-- The whole record at once: a view shows most of it.
local function load_shown(workspace, id)
  local task = record(key.task(workspace, id))
  if not task then return nil end
  for field, value in pairs(task) do
    if value == '' then task[field] = nil end
  end
  task.workspace, task.id, task.member = workspace, id, workspace .. '.' .. id
  return task
end

local function phase_of(task)
  if task.status == 'PENDING' then
    if task.wait_scope then return 'parked' end
    return boot_of_queue(task.queue) and 'sent_to_boot' or 'queued'
  end
  if task.status == 'RUNNING' then
    if redis.call('HGET', key.boot(task.boot), 'state') == 'DEAD' then return 'recovering' end
    return redis.call('HGET', key.reservation(task.token), 'state') == 'active' and 'running' or 'creating'
  end
  return tonumber(task.open) > 0 and 'cleanup_pending' or 'ended'
end

local function view_of(task)
  local pending, runs = task.status == 'PENDING', task.status == 'RUNNING'
  return {
    task.workspace, task.id, task.status, phase_of(task), task.attempt, task.delivery, task.image, task.cancel,
    task.accepted_ms, task.ended_ms or '', pending and wait_reason(task) or '',
    task.wait_since_ms or task.pending_since_ms, runs and task.host or '', task.reasons or '',
    not runs and tonumber(task.open) > 0 and '1' or '0', task.sequence, task.outcome or '',
  }
end
