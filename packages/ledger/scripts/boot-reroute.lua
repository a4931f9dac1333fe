#!lua flags=allow-oom
-- boot-reroute: PENDING tasks whose route is the queue of a boot that takes nothing any more get a new delivery on the
-- queue they came by: of one that is DEAD, drains or fails its checks, or whose host drains or has a sick engine.
-- ARGV: boot, limit
-- Replies: {{workspace, task, delivery, queue, job}, ...}
-- Keeps: T2. Idempotent under re-send: what was sent elsewhere names the boot no more; a delivery whose reply is lost
-- is healed.
--- @include "begin"
--- @include "ending"
local boot, sent = ARGV[1], {}
local found = redis.call('HMGET', key.boot(boot), 'state', 'host', 'failed_checks')
if not found[1] then return sent end
if found[1] == 'DEAD' and not dead_for_good(boot) then return sent end
local takes = found[1] == 'LIVE' and (found[3] or '') == ''
if takes and engine_healthy(found[2]) and not host_drains(found[2]) then return sent end

local members = redis.call('SMEMBERS', key.boot_routes(boot))
table.sort(members)
for i = 1, math.min(#members, tonumber(ARGV[2])) do
  local task = load_member(members[i])
  redeliver(task)
  sent[#sent + 1] = { task.workspace, task.id, task.delivery, task.queue, task.job }
end
return sent
