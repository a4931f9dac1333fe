#!lua flags=allow-oom
-- boot-free: gives back what a DEAD boot held: after proof the reservations of the sandboxes named, and its pool slice
-- where nothing at all of it is left; after the dead-man bound all. What still runs must be recovered first.
-- ARGV: boot, some_gone | all_gone | bound, sandbox, ...
-- Replies: {promotions, reservations left, slice freed (0 | 1)}
-- Keeps: C1 C2 L4. Idempotent under re-send: a spent token is not found again, and no slice is left.
--- @include "begin"
--- @include "freeing"
local boot, right = ARGV[1], ARGV[2]
local by_bound = right == 'bound'
local gone, promotions, left = {}, {}, 0
for i = 3, #ARGV do gone[ARGV[i]] = true end
local free = dead_for_good(boot)

local slice_freed = free and right ~= 'some_gone' and holds_slice(boot)
if slice_freed then
  set_slice(boot, redis.call('HGET', key.boot(boot), 'host'), slice_of(boot), { 0, 0, 0, 0 })
  let_tombstone_go(boot)
end

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
add_heads_of(workspaces, promotions)
if slice_freed and not next(workspaces) then add_fleet_heads(promotions) end
return { promotions, left, slice_freed and '1' or '0' }
