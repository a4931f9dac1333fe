-- Capacity is given back in one way (C2): a token is spent, once, and remembered for a while.
--- @include "ending"
local function spend(token, reservation, task, delivery)
  add_to_sum('host', reservation.host, amount_in(reservation), -1)
  redis.call('DEL', key.reservation(token))
  redis.call('SREM', key.reservations, token)
  redis.call('SREM', key.boot_tokens(reservation.boot), token)
  redis.call('HDEL', key.boot_missing(reservation.boot), token)
  redis.call('SET', key.gone(token), reservation.boot .. ' ' .. delivery, 'PX', SPENT_TOKEN_MS)
  task.open = int(tonumber(task.open) - 1)
  set(task, { open = task.open, scope_held = free_shared_scopes(task) })
  retain(task)
  let_tombstone_go(reservation.boot)
end
