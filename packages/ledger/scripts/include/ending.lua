-- The one terminal transition (T1), and the ways back to PENDING. Whatever ends a task frees what it holds without
-- a sandbox, leaves the waiting list and wakes its own jobs; the script then names the next heads, once.
--- @include "events"
--- @include "routes"
--- @include "next-heads"

-- Records are kept from the end on; one whose sandbox is not yet proven gone stays until it is.
local function retain(task)
  if not terminal(task) or tonumber(task.open) > 0 then return end
  redis.call('PEXPIRE', task.name, record_ms())
end

local function forget_body(task)
  redis.call('DEL', key.body(task.workspace, task.id))
  if end_backlog(task) then redis.call('PEXPIRE', key.index(task.workspace), record_ms()) end
end

-- In the order they may be removed: a plain producer's job may come once more, so that its task counts as younger.
local function list_ended(task, followed)
  local plain = followed or task.job ~= job_of(task, task.delivery)
  redis.call('ZADD', key.ended(task.workspace), int(now_ms + (plain and PLAIN_RETENTION_MS or 0)), task.id)
  redis.call('PEXPIRE', key.ended(task.workspace), int(record_ms() + PLAIN_RETENTION_MS))
end

-- Jobs that follow the task. Answers how many.
local function add_followers(task, promotions)
  local followers = redis.call('SMEMBERS', key.followers(task.workspace, task.id))
  for _, member in ipairs(followers) do
    local queue, job = string.match(member, '^([^\n]*)\n(.*)$')
    promotions[#promotions + 1] = { task.workspace, task.id, queue, job }
  end
  return #followers
end

-- Output, and followers for a re-send, are kept a while.
local function retain_for_a_while(task, followers)
  local workspace, id = task.workspace, task.id
  if followers > 0 then redis.call('PEXPIRE', key.followers(workspace, id), output_ms()) end
  if redis.call('EXISTS', key.logs(workspace, id), key.marks(workspace, id)) == 0 then return end
  redis.call('PEXPIRE', key.logs(workspace, id), output_ms())
  redis.call('PEXPIRE', key.marks(workspace, id), output_ms())
end

local function finish(task, status, outcome, finished, promotions, ended_by)
  local waits = task.status == 'PENDING'
  emit_state(task, finished)
  leave(task)
  leave_route(task)
  local followers = add_followers(task, promotions)
  list_ended(task, followers > 0)
  if waits then promotions[#promotions + 1] = promotion(task) end
  forget_body(task)
  set(task, {
    status = status, outcome = outcome, ended_ms = int(now_ms), sequence = task.sequence, ended_by = ended_by,
    scope_held = free_shared_scopes(task),
  })
  if waits then
    redis.call('ZREM', key.pending, task.member)
    redis.call('ZREM', key.healing, task.member)
  end
  redis.call('PEXPIRE', key.events(task.workspace, task.id), record_ms())
  retain_for_a_while(task, followers)
  retain(task)
end

local NO_OUTPUT = '{"text":null,"encoding":"utf8","truncated":false,"total_bytes":0,"sha256":null}'
local UNSETTLED = table.concat({
  '{"workspace_id":"%s","task_id":"%s","status":"%s","ran":%s,"warm":false,"exit_code":null,"signal":null',
  '"attempt":%s,"host_id":null,"image":%s,"image_digest":null,"generation":%s,"state_lost":false,"isolation":null',
  '"stdout":' .. NO_OUTPUT, '"stderr":' .. NO_OUTPUT, '"limits":null',
  '"timing":{"queued_ms":%s,"setup_ms":null,"run_ms":null,"harvest_ms":null,"total_ms":%s}',
  '"usage":{"cpu_ms":null,"memory_peak_bytes":null,"killed_processes":null,"kill_ms":null}',
  '"tree_receipt":null,"cleanup_pending":%s,"error":%s}',
}, ',')
local UNSETTLED_EVENT = '{"kind":"task_finished","status":"%s","exit_code":null,"signal":null,"error":%s}'

-- The whole outcome of a task that ends without a settle. `failure` is the JSON of its error.
local function finish_unsettled(task, status, failure, promotions)
  local total = int(math.max(0, now_ms - tonumber(task.accepted_ms)))
  local outcome = string.format(UNSETTLED, task.workspace, task.id, status, tostring(task.ran == '1'), task.attempt,
    cjson.encode(task.image), task.generation, task.attempt == '0' and total or 'null', total,
    tostring(tonumber(task.open) > 0), failure)
  finish(task, status, outcome, string.format(UNSETTLED_EVENT, status, failure), promotions)
end

-- A plain producer's job cannot carry a second delivery: it waits for the end instead.
local function follow_plain_job(task)
  if task.job == job_of(task, task.delivery) then return end
  redis.call('SADD', key.followers(task.workspace, task.id), task.queue .. '\n' .. task.job)
end

-- A new delivery is a new job: the old one's id can never be used again. It goes by the queue given; without one, by
-- that which the task came from.
local function redeliver(task, queue)
  set_route(task, queue or task.home or task.queue)
  local delivery = int(tonumber(task.delivery) + 1)
  set(task, { delivery = delivery, job = job_of(task, delivery) })
  redis.call('ZADD', key.healing, int(now_ms + HEALING_FIRST_MS), task.member)
end

local HISTORY = '{"attempts":%s,"attempts_counted":%s,"last_host":%s,"reasons":%s,'

-- The error with what is known of the attempts put before its own evidence.
local function with_history(failure, task)
  local first, last = string.find(failure, '"evidence":{', 1, true)
  local history = string.format(HISTORY, task.attempt, task.counted, cjson.encode(task.last_host),
    cjson.encode(task.reasons))
  return string.sub(failure, 1, last - 1) .. history .. string.sub(failure, last + 1)
end

-- Ends the attempt of a RUNNING task: back to PENDING, or settled where it is flagged or its attempts are used up.
-- `counted` attempts count against attempts_max, others are hand-backs with a bound of their own.
local function give_back(task, counted, requeued, failures, promotions)
  local count = counted and 'counted' or 'hand_backs'
  local reason = string.sub(cjson.decode(requeued).reason, 1, 64)
  local known = string.format('%s: %s on %s', task.attempt, reason, task.host)
  set(task, {
    [count] = int(tonumber(task[count]) + 1), last_host = task.host,
    reasons = task.reasons and task.reasons .. '; ' .. known or known,
  })
  redis.call('HSET', key.reservation(task.token), 'state', 'draining')
  if task.cancel == '1' then
    finish_unsettled(task, 'CANCELLED', failures.cancelled, promotions)
  elseif tonumber(task.counted) >= tonumber(task.attempts_max) then
    finish_unsettled(task, 'FAILED', with_history(failures.exhausted, task), promotions)
  elseif tonumber(task.hand_backs) >= HAND_BACKS_MAX then
    finish_unsettled(task, 'FAILED', with_history(failures.unavailable, task), promotions)
  else
    follow_plain_job(task)
    emit_state(task, requeued)
    set(task, { status = 'PENDING', pending_since_ms = int(now_ms), sequence = task.sequence })
    clear(task, { 'boot', 'host', 'token', 'sandbox', 'fence', 'granted_ms' })
    add_queued(task, 1)
    redis.call('ZADD', key.pending, int(now_ms + tonumber(task.queue_timeout_ms)), task.member)
    redeliver(task)
  end
end
