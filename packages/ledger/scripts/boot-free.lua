#!lua flags=allow-oom
-- boot-free: gives back what a DEAD boot held: after proof those of the sandboxes named, after the dead-man bound all.
-- What still runs must be recovered first.
-- ARGV: boot, proof | bound, sandbox, ...
-- Replies: {promotions, reservations left}
-- Keeps: C1 C2 L4. Idempotent under re-send: a spent token is not found again.
--- @include "begin"
--- @include "freeing"
local boot, by_bound = ARGV[1], ARGV[2] == 'bound'
local gone, promotions, left = {}, {}, 0
for i = 3, #ARGV do gone[ARGV[i]] = true end
local free = dead_for_good(boot)

local workspaces = {}
local tokens = redis.call('SMEMBERS', key.boot_tokens(boot))
table.sort(tokens)
for _, token in ipairs(tokens) do
  local reservation = record(key.reservation(token))
  local task = load_task(reservation.workspace, reservation.task)
  if free and (by_bound or gone[reservation.sandbox]) and not (task.status == 'RUNNING' and task.token == token) then
    spend(token, reservation, task, '')
    workspaces[task.workspace] = true
  else
    left = left + 1
  end
end
for workspace in pairs(workspaces) do add_workspace_heads(workspace, promotions) end
if next(workspaces) then add_fleet_heads(promotions) end
return { promotions, left }
