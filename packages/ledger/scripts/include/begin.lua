-- What every script starts with: constants, clock, key names, and the schema number that refuses older writers.
--- @include "values"
--- @include "clock"
--- @include "keys"
local settings = redis.call('HMGET', key.fleet, 'schema', 'record_ms', 'output_ms')
local schema = settings[1]
if schema and schema ~= SCHEMA then
  return redis.error_reply('SCHEMA ' .. schema)
end

-- How long records, and output text, are kept from the end on.
local function record_ms()
  return tonumber(settings[2] or RECORD_RETENTION_MS)
end

local function output_ms()
  return math.min(tonumber(settings[3] or OUTPUT_RETENTION_MS), record_ms())
end

local function record(name)
  local flat = redis.call('HGETALL', name)
  if #flat == 0 then return nil end
  local fields = {}
  for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
  return fields
end

-- Fields of a task that most scripts ask for. They stand first in a record, since Redis searches a small one from its
-- front; '' there is as good as no field.
local USUAL = {
  'status', 'boot', 'host', 'token', 'generation', 'fence', 'attempt', 'sequence', 'cancel', 'delivery', 'queue', 'job',
  'slots', 'cpu_milli', 'memory_mb', 'pids', 'scope_held', 'open', 'wait_scope', 'image', 'runtime', 'accepted_ms',
  'moved_by', 'body_bytes', 'accepted_us',
}

-- Read once a script: whatever changes a record goes through set and clear. False where there is none.
local loaded = {}

local function field_asked_late(task, field)
  local value = redis.call('HGET', task.name, field)
  if value == '' then value = false end
  rawset(task, field, value)
  return value
end

-- Those of the usual fields that the script names are read at once, others as they are asked for; false where absent.
local function load_task(workspace, id)
  -- `.` is in no id, so that members of lists of tasks can be taken apart.
  local member = workspace .. '.' .. id
  if loaded[member] ~= nil then return loaded[member] or nil end
  local name = key.task(workspace, id)
  local found = redis.call('HMGET', name, USUAL_NAMES)
  if not found[1] then
    loaded[member] = false
    return nil
  end
  local task = { workspace = workspace, id = id, name = name, member = member, USUAL_FOUND }
  loaded[member] = task
  return setmetatable(task, { __index = field_asked_late })
end

local function load_member(member)
  if loaded[member] then return loaded[member] end
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

-- A new record. `fields` is used up.
local function create(task, fields)
  local flat = {}
  for _, field in ipairs(USUAL) do
    flat[#flat + 1], flat[#flat + 2] = field, fields[field] or ''
    task[field], fields[field] = fields[field], nil
  end
  for field, value in pairs(fields) do
    task[field] = value
    flat[#flat + 1], flat[#flat + 2] = field, value
  end
  redis.call('HSET', task.name, unpack(flat))
end

local function clear(task, names)
  local flat = {}
  for _, name in ipairs(names) do
    task[name] = false
    flat[#flat + 1], flat[#flat + 2] = name, ''
  end
  redis.call('HSET', task.name, unpack(flat))
end

local function terminal(task)
  return task.status ~= 'PENDING' and task.status ~= 'RUNNING'
end

local function job_of(task, delivery)
  return task.workspace .. '.' .. task.id .. '.' .. delivery
end
