-- Where else a task could run that this host has denied: a host that would admit it now, by the rule of admit itself,
-- so that no older waiter loses its turn. What is on its way to a host counts as if it had arrived.
--- @include "overtaking"

-- Tasks sent to a boot that have not been heard there: one that waits by now counts as any other waiter, and
-- one that the script may not look at any more as if it were on its way.
local function on_the_way_to(boot)
  local count = 0
  for _, member in ipairs(redis.call('SMEMBERS', key.boot_routes(boot))) do
    local other = may_look_at(member) and load_member(member)
    if not other or not other.wait_scope then count = count + 1 end
  end
  return count
end

local function boot_to_send_to(host)
  local best, least, coming = nil, nil, 0
  local boots = redis.call('SMEMBERS', key.host_boots(host))
  table.sort(boots)
  for _, boot in ipairs(boots) do
    if boot_takes_tasks(boot) then
      coming = coming + on_the_way_to(boot)
      local held = redis.call('SCARD', key.boot_tokens(boot))
      if not least or held < least then best, least = boot, held end
    end
  end
  return best, coming
end

-- Hosts that would have room if nobody were older, {boot, free slots}, the roomiest first.
local function boots_beside(task, except)
  local found, amount = {}, amount_in(task)
  for _, host in ipairs(redis.call('SMEMBERS', key.hosts)) do
    if host ~= except and could_serve(host, task) and fits(amount, free_in('host', host)) and not host_drains(host)
      and engine_healthy(host) and not shows_strangers(host) then
      local free = free_in('host', host)
      local boot, coming = boot_to_send_to(host)
      free[1] = free[1] - coming
      if boot and fits(amount, free) then found[#found + 1] = { host = host, boot = boot, free = free } end
    end
  end
  table.sort(found, function(left, right)
    if left.free[1] ~= right.free[1] then return left.free[1] > right.free[1] end
    return left.host < right.host
  end)
  return found
end

local function boot_with_room(task, except)
  for _, found in ipairs(boots_beside(task, except)) do
    if not overtaken_in_fleet(task, found.host, found.free) then return found.boot end
  end
  return nil
end
