-- What every script starts with: constants, clock, key names, and the schema number that refuses older writers.
--- @include "values"
--- @include "clock"
--- @include "keys"
local schema = redis.call('HGET', key.fleet, 'schema')
if schema and schema ~= SCHEMA then
  return redis.error_reply('SCHEMA ' .. schema)
end

local function record(name)
  local flat = redis.call('HGETALL', name)
  if #flat == 0 then return nil end
  local fields = {}
  for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
  return fields
end

local function load_task(workspace, id)
  local task = record(key.task(workspace, id))
  if not task then return nil end
  task.workspace, task.id = workspace, id
  task.name = key.task(workspace, id)
  -- `.` is in no id, so that members of lists of tasks can be taken apart.
  task.member = workspace .. '.' .. id
  return task
end

local function load_member(member)
  local workspace, id = string.match(member, '^([^.]+)%.([^.]+)$')
  return load_task(workspace, id)
end

local function set(task, fields)
  local flat = {}
  for name, value in pairs(fields) do
    task[name] = value
    flat[#flat + 1], flat[#flat + 2] = name, value
  end
  redis.call('HSET', task.name, unpack(flat))
end

local function clear(task, names)
  for _, name in ipairs(names) do task[name] = nil end
  redis.call('HDEL', task.name, unpack(names))
end

local function terminal(task)
  return task.status ~= 'PENDING' and task.status ~= 'RUNNING'
end

local function job_of(task, delivery)
  return task.workspace .. '.' .. task.id .. '.' .. delivery
end
