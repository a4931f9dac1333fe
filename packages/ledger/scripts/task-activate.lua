#!lua flags=allow-oom
-- task-activate: the sandbox is assigned; from here user code may run. Reservation active, task_started stored, and
-- the sandbox that serves recorded: the one named at admit, or a warm one taken in its place.
-- ARGV: workspace, task, boot, token, generation, fence, sandbox
-- Replies: {active, sequence} · {cancelled} · {fenced}
-- Keeps: L2 L3 C2 V1. Idempotent under re-send: an active reservation of this grant answers as before.
--- @include "begin"
--- @include "events"
--- @include "holder"
local grant = { boot = ARGV[3], token = ARGV[4], generation = ARGV[5], fence = ARGV[6] }
local task = load_task(ARGV[1], ARGV[2])
if not task or not holds(task, grant) then return { 'fenced' } end
local reservation = key.reservation(grant.token)
if redis.call('HGET', reservation, 'state') == 'active' then return { 'active', task.started_sequence } end
if task.cancel == '1' then return { 'cancelled' } end

redis.call('HSET', reservation, 'state', 'active', 'sandbox', ARGV[7], 'assigned', '1')
emit_state(task, '{"kind":"task_started","host_id":"' .. task.host .. '","generation":' .. task.generation .. '}')
set(task, { ran = '1', sandbox = ARGV[7], started_sequence = task.sequence, sequence = task.sequence })
return { 'active', task.sequence }
