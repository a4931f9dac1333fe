-- job-within-bounds: stands before those of BullMQ's scripts that hand a job to a worker, in place of their HGETALL.
-- Anyone may add a job of half a gigabyte: what is longer than a request may be is cut in Redis, before it leaves it.
-- Values: DATA_BYTES_MAX, REST_BYTES_MAX (of each other field: most of them a producer's call can set)
-- Replies: the job's fields, as HGETALL does; data that was cut says how long the job was
-- Keeps: idempotent, since what was cut is short. By other fields, such as the id for deduplication, BullMQ finds what
-- it ends or removes together with the job: these stay as they are and are left out of the reply.
local INSTEAD = { name = 'cut', opts = '{}', progress = '0' }

local function job_within_bounds(job)
  -- Almost every job is smaller than any field of it may be. One call tells that; the lengths of fields take ten.
  local bytes = redis.call('MEMORY', 'USAGE', job, 'SAMPLES', 0)
  if not bytes or bytes <= REST_BYTES_MAX then return redis.call('HGETALL', job) end
  local total, too_long, short = 0, false, {}
  for _, field in ipairs(redis.call('HKEYS', job)) do
    local bytes = redis.call('HSTRLEN', job, field)
    total = total + bytes
    local cut = bytes > (field == 'data' and DATA_BYTES_MAX or REST_BYTES_MAX)
    if cut and INSTEAD[field] then redis.call('HSET', job, field, INSTEAD[field]) end
    if not cut or INSTEAD[field] then table.insert(short, field) end
    too_long = too_long or cut
  end
  if not too_long then return redis.call('HGETALL', job) end
  redis.call('HSET', job, 'data', string.format('{"holdfast":"cut","bytes":%.0f}', total))
  local reply = { 'data', redis.call('HGET', job, 'data') }
  for _, field in ipairs(short) do
    table.insert(reply, field)
    table.insert(reply, redis.call('HGET', job, field))
  end
  return reply
end
