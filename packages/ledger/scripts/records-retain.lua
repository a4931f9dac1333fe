#!lua flags=allow-oom
-- records-retain: removes records that a workspace has beyond its number, those that ended first. One bounded step
-- through the workspaces. Never a task that has not ended, holds a sandbox, or ended too lately.
-- ARGV: cursor ('0' at first), workspaces to look at, most to remove, '1' to count only
-- Replies: {cursor ('0' at the end), records seen, removed, left that may be removed now}
-- Keeps: Q1 T1 T2. Idempotent under re-send: what was removed is not there any more.
--- @include "begin"
local budget, count_only = tonumber(ARGV[3]), ARGV[4] == '1'
local limits = redis.call('HMGET', key.fleet, 'records_max', 'records_min_ms')
local records_max, min_ms = tonumber(limits[1] or RECORDS_MAX), tonumber(limits[2] or RECORDS_MIN_MS)
local seen, removed, left = 0, 0, 0

local function remove(workspace, id)
  redis.call('ZREM', key.ended(workspace), id)
  redis.call('ZREM', key.index(workspace), id)
  return redis.call('UNLINK', key.task(workspace, id), key.events(workspace, id), key.logs(workspace, id),
    key.marks(workspace, id), key.output(workspace, id), key.followers(workspace, id)) > 0 and 1 or 0
end

-- How many records went by it.
local function look_at(workspace, id)
  local task = load_task(workspace, id)
  if not task then
    return remove(workspace, id)
  elseif not terminal(task) then
    -- The name was used again.
    redis.call('ZREM', key.ended(workspace), id)
  elseif tonumber(task.open) > 0 then
    redis.call('ZADD', key.ended(workspace), int(now_ms), id)
  else
    return remove(workspace, id)
  end
  return 0
end

local function step(workspace)
  local ended = key.ended(workspace)
  if not count_only then
    redis.call('ZREMRANGEBYSCORE', ended, '-inf', int(now_ms - record_ms() - PLAIN_RETENTION_MS))
  end
  local kept = redis.call('ZCARD', ended)
  seen = seen + kept
  if kept == 0 and not count_only and redis.call('EXISTS', key.backlog('workspace', workspace)) == 0 then
    redis.call('SREM', key.retained, workspace)
  end
  local over = records_max > 0 and kept - records_max or 0
  if over <= 0 then return end
  local until_ms = int(now_ms - min_ms)
  local now_over = math.min(over, redis.call('ZCOUNT', ended, '-inf', until_ms))
  local take = count_only and 0 or math.min(now_over, budget)
  left = left + now_over - take
  if take == 0 then return end
  budget = budget - take
  for _, id in ipairs(redis.call('ZRANGE', ended, '-inf', until_ms, 'BYSCORE', 'LIMIT', 0, take)) do
    removed = removed + look_at(workspace, id)
  end
end

local found = redis.call('SSCAN', key.retained, ARGV[1], 'COUNT', ARGV[2])
for _, workspace in ipairs(found[2]) do step(workspace) end
return { found[1], seen, removed, left }
