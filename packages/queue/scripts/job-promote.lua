#!lua flags=allow-oom
-- job-promote: wakes one sleeping job ahead of all that wait, in one step and at one cost however many wait. BullMQ's
-- own puts it behind them all; to move it from there to their head is to search the whole list.
-- KEYS: what the names of the queue's keys begin with. ARGV: id of the job
-- Replies: 1 where the job slept, else 0. One that woke by itself and waits again is moved ahead too.
-- Keeps: idempotent, since it slept the first time only. All that BullMQ 6.7 does in promote and changePriority: also
-- where the queue is paused the job goes to `wait`; a stored priority would part it from those ahead of which it goes.
local root, id = KEYS[1], ARGV[1]
local job, wait = root .. id, root .. 'wait'
local NEAR = 1000

-- Looked for near the head first, where it is if it was promoted before; one that woke by itself is near the end.
local function left_waiting()
  local started, finished = unpack(redis.call('HMGET', job, 'ats', 'finishedOn'))
  if (tonumber(started) or 0) == 0 or finished or redis.call('EXISTS', job .. ':lock') == 1 then return false end
  if redis.call('ZREM', root .. 'prioritized', id) == 1 then return true end
  local near = redis.call('LPOS', wait, id, 'RANK', -1, 'MAXLEN', NEAR)
  return redis.call('LREM', wait, near and -1 or 1, id) == 1
end

local slept = redis.call('ZREM', root .. 'delayed', id) == 1
if not slept and not left_waiting() then return 0 end
redis.call('RPUSH', wait, id)
redis.call('HSET', job, 'priority', 0)
if slept then
  redis.call('HSET', job, 'delay', 0)
  redis.call('XADD', root .. 'events', '*', 'event', 'waiting', 'jobId', id, 'prev', 'delayed')
end
local paused, concurrency = unpack(redis.call('HMGET', root .. 'meta', 'paused', 'concurrency'))
local full = concurrency and redis.call('LLEN', root .. 'active') >= tonumber(concurrency)
if not paused and not full then redis.call('ZADD', root .. 'marker', 0, '0') end
return slept and 1 or 0
