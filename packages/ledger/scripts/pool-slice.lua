#!lua flags=allow-oom
-- pool-slice: sets what a boot's pool reserves of its host for sandboxes that wait. It may always shrink; it grows only
-- where the boot is granted tasks, the host has the room, and no task waits for it or wants the pool's room back. What
-- does not fit leaves the slice as it is. What the boot says of its pool is kept for show.
-- ARGV: boot, memory_mb, pids, report by JSON
-- Replies: {set, memory_mb, pids, wanted back (0 | 1), promotions} · {fenced}
-- Keeps: C1 L3 L4 T2. Idempotent under re-send: it sets and never adds; who has room is found again by task-heads.
--- @include "begin"
--- @include "grants"
--- @include "heads"
--- @include "yielding"
local boot, wanted = ARGV[1], { 0, 0, tonumber(ARGV[2]), tonumber(ARGV[3]) }
local found = redis.call('HMGET', key.boot(boot), 'state', 'host')
local state, host = found[1], found[2]
if not state or state == 'DEAD' then return { 'fenced' } end

local had, free = slice_of(boot), free_in('host', host)
local wanted_back = is_pool_wanted_back(host)
local grows, shrinks, has_room = false, false, true
for i = 3, 4 do
  grows, shrinks = grows or wanted[i] > had[i], shrinks or wanted[i] < had[i]
  if wanted[i] > had[i] and wanted[i] - had[i] > free[i] then has_room = false end
end

-- As far as the list is looked at for any newcomer.
local function is_waited_for()
  for _, member in ipairs(first_of(key.waiters('fleet', 'all')).members) do
    local task = load_member(member)
    if task and task.wait_scope == 'host' and could_serve(host, task) then return true end
  end
  return false
end

local function may_grow()
  if not boot_takes_tasks(boot) or host_drains(host) or wanted_back then return false end
  return has_room and grants_open() and not shows_strangers(host) and not is_waited_for()
end

redis.call('HSET', key.boot(boot), 'pool_report', ARGV[4])
local set_now = (grows or shrinks) and (not grows or may_grow())
if set_now then set_slice(boot, host, had, wanted) end
local promotions = {}
if set_now and shrinks then add_fleet_heads(promotions) end
local slice = set_now and wanted or had
return { 'set', int(slice[3]), int(slice[4]), wanted_back and '1' or '0', promotions }
