#!lua flags=no-writes
-- host-list: hosts with limits, sums, offers and boots.
-- Replies: {{host, limits, reserved, healthy (0 | 1), drains (0 | 1), engine version, {image, digest, ...},
--   {runtime, ...}, {boot, state, lease left in ms, held, slice's memory_mb, slice's pids, report of its pool by JSON
--   ('' for none), failed checks by comma ('' for none), ...}, {image, JSON note of its check, ...}}, ...}
-- Keeps: C1 (shown)
--- @include "begin"
--- @include "slices"
local list = {}
local hosts = redis.call('SMEMBERS', key.hosts)
table.sort(hosts)
for _, host in ipairs(hosts) do
  local found = redis.call('HMGET', key.host(host), 'engine_healthy', 'draining', 'engine_version')
  local boots, ids = {}, redis.call('SUNION', key.host_boots(host), key.host_dead(host))
  table.sort(ids)
  for _, boot in ipairs(ids) do
    local state = redis.call('HMGET', key.boot(boot), 'state', 'lease_ends_ms', 'pool_report', 'failed_checks')
    if state[1] then
      local left, slice = math.max(0, tonumber(state[2] or '0') - now_ms), slice_of(boot)
      local held = redis.call('SCARD', key.boot_tokens(boot))
      local row = { boot, state[1], int(left), held, int(slice[3]), int(slice[4]), state[3] or '', state[4] or '' }
      for _, value in ipairs(row) do boots[#boots + 1] = value end
    end
  end
  local sum = sum_of('host', host)
  for i = 1, #sum do sum[i] = int(sum[i]) end
  list[#list + 1] = {
    host, table.concat(redis.call('HMGET', key.limits('host', host), unpack(AMOUNT)), ','), table.concat(sum, ','),
    found[1], found[2] or '0', found[3], redis.call('HGETALL', key.host_images(host)),
    redis.call('SMEMBERS', key.host_runtimes(host)), boots, redis.call('HGETALL', key.host_image_notes(host)),
  }
end
return list
