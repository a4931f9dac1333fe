#!lua flags=allow-oom
-- boot-recover: takes RUNNING tasks from a DEAD boot, each by the token under which it runs. The attempt counts, for
-- its worker died. Its reservation drains until it is freed.
-- ARGV: boot, limit, requeued event, failures by JSON: cancelled, attempts exhausted, engine unavailable
-- Replies: {{{workspace, task, delivery, queue, job}, ...}, {{workspace, task}, ...} settled, promotions, left}
-- Keeps: L2 L4 T1 T2 T3 C2. Idempotent under re-send: what was taken runs under that token no more; a delivery whose
-- reply is lost is healed.
--- @include "begin"
--- @include "ending"
local boot, limit = ARGV[1], tonumber(ARGV[2])
local failures = { cancelled = ARGV[4], exhausted = ARGV[5], unavailable = ARGV[6] }
local requeued, settled, promotions, left = {}, {}, {}, 0
local workspaces = {}
if redis.call('HGET', key.boot(boot), 'state') ~= 'DEAD' then return { requeued, settled, promotions, left } end
if not dead_for_good(boot) then limit = 0 end

local tokens = redis.call('SMEMBERS', key.boot_tokens(boot))
table.sort(tokens)
for _, token in ipairs(tokens) do
  local of = redis.call('HMGET', key.reservation(token), 'workspace', 'task')
  local task = load_task(of[1], of[2])
  if task and task.status == 'RUNNING' and task.boot == boot and task.token == token then
    if limit == 0 then
      left = left + 1
    else
      limit = limit - 1
      give_back(task, true, ARGV[3], failures, promotions)
      if terminal(task) then
        settled[#settled + 1] = { task.workspace, task.id }
        workspaces[task.workspace] = true
      else
        requeued[#requeued + 1] = { task.workspace, task.id, task.delivery, task.queue, task.job }
      end
    end
  end
end
add_heads_of(workspaces, promotions)
return { requeued, settled, promotions, left }
