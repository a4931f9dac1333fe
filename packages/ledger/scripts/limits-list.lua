#!lua flags=no-writes
-- limits-list: limits and use of the fleet, of hosts, and of workspaces that have limits or unfinished tasks.
-- ARGV: workspaces at most
-- Replies: {{{scope, id, limits, used}, ...}, {waiting for want of room in a host, a workspace, the fleet}}
--   (limits and used are slots,cpu_milli,memory_mb,pids,queued,pending_bytes; '' for none or not of the scope)
-- Keeps: C1 (shown)
--- @include "begin"
--- @include "backlog"
local BACKLOG = { 'queued', 'pending_bytes' }

local function row(scope, id)
  local limits = redis.call('HMGET', key.limits(scope, id), unpack(AMOUNT))
  local used, backlog = sum_of(scope, id), {}
  for i = 1, #used do used[i] = int(used[i]) end
  if scope == 'host' then
    backlog = { '', '' }
    limits[5], limits[6] = '', ''
  else
    backlog = redis.call('HMGET', key.backlog(scope, id), unpack(BACKLOG))
    local set = redis.call('HMGET', key.limits(scope, id), unpack(BACKLOG))
    limits[5], limits[6] = set[1], set[2] or (scope == 'workspace' and int(BODIES_BYTES_MAX))
  end
  for i = 1, 6 do limits[i] = limits[i] or '' end
  used[5], used[6] = backlog[1] or '0', backlog[2] or '0'
  return { scope, id, table.concat(limits, ','), table.concat(used, ',') }
end

local rows = { row('fleet', 'all') }
local hosts, workspaces = redis.call('SMEMBERS', key.hosts), redis.call('SMEMBERS', key.workspaces)
table.sort(hosts)
table.sort(workspaces)
for _, host in ipairs(hosts) do rows[#rows + 1] = row('host', host) end
for i = 1, math.min(#workspaces, tonumber(ARGV[1])) do rows[#rows + 1] = row('workspace', workspaces[i]) end
local waiting = redis.call('HMGET', key.backlog('fleet', 'all'), 'waiting_host', 'waiting_workspace', 'waiting_fleet')
for i = 1, 3 do waiting[i] = waiting[i] or '0' end
return { rows, waiting }
