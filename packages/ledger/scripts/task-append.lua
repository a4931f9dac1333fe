#!lua
-- task-append: stores output events of the current grant. Refused when Redis is out of memory.
-- ARGV: workspace, task, boot, token, generation, fence, expected sequence, body, body, ...
-- Replies: {appended, last sequence} · {fenced}
-- Keeps: L2 L3 V1. Idempotent under re-send by the expected sequence: one holder numbers its appends, so what lies
-- at or before the ledger's last sequence was stored by this very call.
--- @include "begin"
--- @include "events"
--- @include "holder"
local grant = { boot = ARGV[3], token = ARGV[4], generation = ARGV[5], fence = ARGV[6] }
local task = load_task(ARGV[1], ARGV[2])
if not task or not holds(task, grant) then return { 'fenced' } end

-- A holder that does not count its own task_started stands right after it all the same.
local expected = math.max(tonumber(ARGV[7]), tonumber(task.started_sequence or '0'))
local count, last = #ARGV - 7, tonumber(task.sequence)
if expected + count <= last then return { 'appended', int(expected + count) } end
-- Past the end only after Redis lost its tail: stored once where the stream ends now, and the holder goes on there.
if expected ~= last and task.rejoined_from == ARGV[7] then return { 'appended', task.rejoined_at } end

local logs, marks = key.logs(task.workspace, task.id), key.marks(task.workspace, task.id)
local bytes = tonumber(task.log_bytes)
for i = 8, #ARGV do
  emit(task, ARGV[i], logs)
  bytes = bytes + #ARGV[i]
end
local fields = { sequence = task.sequence, log_bytes = int(bytes) }
if expected ~= last then fields.rejoined_from, fields.rejoined_at = ARGV[7], task.sequence end

-- A mark about every 256 KiB tells where to cut; cut history is a hole that readers are told of.
if bytes - tonumber(task.log_marked_bytes) >= MARK_BYTES then
  redis.call('RPUSH', marks, task.sequence .. ' ' .. int(bytes))
  fields.log_marked_bytes = int(bytes)
end
while bytes - tonumber(fields.log_cut_bytes or task.log_cut_bytes) > STREAM_BYTES_MAX do
  local mark = redis.call('LPOP', marks)
  if not mark then break end
  local sequence, upto = string.match(mark, '^(%d+) (%d+)$')
  redis.call('XTRIM', logs, 'MINID', '=', int(tonumber(sequence) + 1) .. '-0')
  fields.log_cut_bytes = upto
end
set(task, fields)
return { 'appended', task.sequence }
