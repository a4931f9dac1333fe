#!lua flags=no-writes
-- events-read: one page of a task's events after a cursor, from both streams in order.
-- ARGV: workspace, task, after, limit, bytes_max
-- Replies: {status, last sequence, {sequence, at_ms, attempt, body, ...}} · {} where the task is unknown
-- Keeps: V1 (a hole between two sequences was trimmed: nothing is missing otherwise), W1
--- @include "begin"
local task = load_task(ARGV[1], ARGV[2])
if not task then return {} end
local limit, room = tonumber(ARGV[4]), tonumber(ARGV[5])

-- Reads a stream in small steps, so that a page of large events stays a page.
local function reader(name, cursor)
  local page, at = {}, 1
  return {
    peek = function()
      if at > #page and cursor then
        page, at = redis.call('XRANGE', name, '(' .. cursor, '+', 'COUNT', 16), 1
        cursor = #page == 16 and page[16][1] or nil
      end
      return page[at]
    end,
    skip = function() at = at + 1 end,
  }
end

local function number_of(entry)
  return tonumber(string.match(entry[1], '^%d+'))
end

local states = reader(key.events(task.workspace, task.id), ARGV[3] .. '-0')
local logs = reader(key.logs(task.workspace, task.id), ARGV[3] .. '-0')
local flat = {}
while limit > 0 and room > 0 do
  local state, log = states.peek(), logs.peek()
  local from = (state and (not log or number_of(state) < number_of(log))) and states or logs
  local entry = from.peek()
  if not entry then break end
  from.skip()
  local fields = entry[2]
  flat[#flat + 1], flat[#flat + 2] = string.match(entry[1], '^%d+'), fields[2]
  flat[#flat + 1], flat[#flat + 2] = fields[4], fields[6]
  limit, room = limit - 1, room - #fields[6]
end
return { task.status, task.sequence, flat }
