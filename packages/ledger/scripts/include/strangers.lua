-- Live sandboxes that a worker sees on its engine and does not hold, `seen` as sandbox, boot whose pool made it or '',
-- .... Those of other boots are known by their reservations; those made by a pool are its boot's to answer for as long
-- as that may act: it holds a slice for the ones that wait, and hears of each token that the ledger does not know. One
-- that just ended may still be seen once, so only what is unknown in two looks running counts. The first look in a run
-- of Redis has none before it: there all that is unknown counts.
--- @include "boots"
local function note_strangers(boot, host, seen)
  local known, unknown, count = {}, {}, 0
  for _, other in ipairs(redis.call('SUNION', key.host_boots(host), key.host_dead(host))) do
    for _, token in ipairs(redis.call('SMEMBERS', key.boot_tokens(other))) do
      known[redis.call('HGET', key.reservation(token), 'sandbox')] = true
    end
  end
  local run_id = redis.call('HGET', key.fleet, 'run_id')
  local found = redis.call('HMGET', key.boot(boot), 'looked_in_run', 'unknown_sandboxes')
  local before = {}
  for sandbox in string.gmatch(found[2] or '', '%S+') do before[sandbox] = true end
  for i = 1, #seen, 2 do
    local sandbox, pool_of = seen[i], seen[i + 1]
    if not known[sandbox] and (pool_of == '' or not boot_may_act(pool_of)) then
      unknown[#unknown + 1] = sandbox
      if before[sandbox] or found[1] ~= run_id then count = count + 1 end
    end
  end
  redis.call('HSET', key.boot(boot), 'looked_in_run', run_id, 'strangers', int(count),
    'unknown_sandboxes', table.concat(unknown, ' '))
end
