-- job-within-bounds: stands before those of BullMQ's scripts that hand a job to a worker, in place of their HGETALL.
-- Anyone may add a job of half a gigabyte: what is longer than a request may be is cut in Redis, before it leaves it.
-- Values: DATA_BYTES_MAX, REST_BYTES_MAX (name, options, progress: all else a producer's call can set)
-- Replies: the job's fields, as HGETALL does; data that was cut says how long the job was
-- Keeps: idempotent, since what was cut is short
local REST = { name = 'cut', opts = '{}', progress = '0' }

local function job_within_bounds(job)
  local total = redis.call('HSTRLEN', job, 'data')
  local too_long = total > DATA_BYTES_MAX
  for field, instead in pairs(REST) do
    local bytes = redis.call('HSTRLEN', job, field)
    total = total + bytes
    if bytes > REST_BYTES_MAX then
      redis.call('HSET', job, field, instead)
      too_long = true
    end
  end
  if too_long then
    redis.call('HSET', job, 'data', string.format('{"holdfast":"cut","bytes":%.0f}', total))
  end
  return redis.call('HGETALL', job)
end
