#!lua flags=no-writes
-- sandbox-list: every open reservation, which is every sandbox that may exist for a task.
-- Replies: {{sandbox, workspace, task, host, boot, attempt, state, amount, assigned (0 | 1)}, ...}
-- Keeps: E1 (shown)
--- @include "begin"
--- @include "amount"
local list = {}
local tokens = redis.call('SMEMBERS', key.reservations)
table.sort(tokens)
for _, token in ipairs(tokens) do
  local of = record(key.reservation(token))
  if of then
    local amount = table.concat({ of.slots, of.cpu_milli, of.memory_mb, of.pids }, ',')
    local assigned = of.assigned or '0'
    list[#list + 1] = { of.sandbox, of.workspace, of.task, of.host, of.boot, of.attempt, of.state, amount, assigned }
  end
end
return list
