-- Events of a task (V1): one sequence over two streams. Output is bounded and forgotten early, the rest is not.
local function emit(task, body, stream)
  local sequence = int(tonumber(task.sequence) + 1)
  local at = int(now_ms)
  redis.call('XADD', stream, sequence .. '-0', 't', at, 'a', task.attempt, 'b', body)
  task.sequence = sequence
  local news = sequence
  if #body <= NEWS_BYTES_MAX then news = sequence .. ' ' .. at .. ' ' .. task.attempt .. ' ' .. body end
  redis.call('PUBLISH', key.news(task.workspace, task.id), news)
end

-- The caller stores the sequence with whatever else it changes.
local function emit_state(task, body)
  emit(task, body, key.events(task.workspace, task.id))
end
