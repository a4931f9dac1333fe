#!lua flags=no-writes
-- limits-list: limits and use of one scope, or of the fleet, its hosts, and workspaces that have limits or unfinished
--   tasks: one step through these that looks at about so many and no more.
-- ARGV: 'one', scope, id | 'step', workspaces to look at (0: none), cursor ('' from the start: fleet and hosts first)
-- Replies: {{{scope, id, limits, used}, ...}, {waiting for want of room in a host, a workspace, the fleet},
--   cursor ('' at the end)}; no row for an unknown host, and a workspace may come in two steps
--   (limits and used are slots,cpu_milli,memory_mb,pids,queued,pending_bytes; '' for none or not of the scope)
-- Keeps: C1 (shown)
--- @include "begin"
--- @include "backlog"
local BACKLOG = { 'queued', 'pending_bytes' }

local function row(scope, id)
  local limits = redis.call('HMGET', key.limits(scope, id), 'slots', 'cpu_milli', 'memory_mb', 'pids', unpack(BACKLOG))
  local used, backlog = sum_of(scope, id), { '', '' }
  for i = 1, #used do used[i] = int(used[i]) end
  if scope ~= 'host' then
    backlog = redis.call('HMGET', key.backlog(scope, id), unpack(BACKLOG))
    limits[6] = limits[6] or (scope == 'workspace' and int(BODIES_BYTES_MAX))
  end
  for i = 1, 6 do limits[i] = limits[i] or '' end
  used[5], used[6] = backlog[1] or '0', backlog[2] or '0'
  return { scope, id, table.concat(limits, ','), table.concat(used, ',') }
end

local rows, cursor = {}, ARGV[3]

local function add(scope, ids)
  table.sort(ids)
  for _, id in ipairs(ids) do rows[#rows + 1] = row(scope, id) end
end

if ARGV[1] == 'one' then
  local known = ARGV[2] ~= 'host' or redis.call('SISMEMBER', key.hosts, ARGV[3]) == 1
  if known then add(ARGV[2], { ARGV[3] }) end
  cursor = ''
else
  if cursor == '' then
    add('fleet', { 'all' })
    add('host', redis.call('SMEMBERS', key.hosts))
    cursor = '0'
  end
  if ARGV[2] ~= '0' then
    local found = redis.call('SSCAN', key.workspaces, cursor, 'COUNT', ARGV[2])
    cursor = found[1]
    add('workspace', found[2])
  end
  if cursor == '0' then cursor = '' end
end

local waiting = redis.call('HMGET', key.backlog('fleet', 'all'), 'waiting_host', 'waiting_workspace', 'waiting_fleet')
for i = 1, 3 do waiting[i] = waiting[i] or '0' end
return { rows, waiting, cursor }
