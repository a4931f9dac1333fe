-- Why one task waits: whose limit keeps it, its place, and what each host lacks, by the rule of admit. Reads only.
--- @include "overtaking"
--- @include "routes"
--- @include "wait-reason"

-- amount, wanted, reserved, limit of each amount that `reserved` leaves too little of.
local function short_of(task, reserved, limits)
  local wanted, short = amount_in(task), {}
  for i, name in ipairs(AMOUNT) do
    if wanted[i] + reserved[i] > limits[i] then
      short[#short + 1] = name
      for _, amount in ipairs({ wanted, reserved, limits }) do short[#short + 1] = int(amount[i]) end
    end
  end
  return short
end

local function short_in(scope, id, task)
  return short_of(task, sum_of(scope, id), limits_of(scope, id))
end

local function row_of(host, task)
  local why = closed_to(host, task)
  if why == 'too_small' then return { host, why, short_of(task, { 0, 0, 0, 0 }, limits_of('host', host)) } end
  if why then return { host, why, {} } end
  local short = short_in('host', host, task)
  if #short > 0 then return { host, 'full', short } end
  local by = overtaken_in_fleet(task, host, free_in('host', host))
  if by == 'workspace' then return { host, 'room', {} }, true end
  return { host, by and 'kept_for_older' or 'room', {} }
end

-- What holds workspace and fleet from an earlier attempt is not asked for them again.
local function short_in_shared(scope, task)
  if task.scope_held == '1' then return {} end
  return short_in(scope, scope == 'fleet' and 'all' or task.workspace, task)
end

-- `turn`: a host keeps its room for an older task of the same workspace, which that is full for.
local function scope_of(task, rows, denied, turn)
  if task.wait_scope then return task.wait_scope end
  if denied then return 'workspace' end
  if #short_in_shared('fleet', task) > 0 then return 'fleet' end
  if turn then return 'workspace' end
  local kept = ''
  for _, row in ipairs(rows) do
    if row[2] == 'room' then return '' end
    if row[2] == 'full' or row[2] == 'kept_for_older' then kept = 'host' end
  end
  return kept
end

local function place_of(task)
  if not task.wait_scope then return {} end
  local list = list_of(task, task.wait_scope)
  local rank = redis.call('ZRANK', list, task.member)
  if not rank then return {} end
  return { task.wait_scope == 'workspace' and 'workspace' or 'fleet', rank + 1, redis.call('ZCARD', list) }
end

local function details_of(task)
  local rows, hosts, turn = {}, redis.call('SMEMBERS', key.hosts), false
  table.sort(hosts)
  local denied = task.scope_held ~= '1' and denied_by_workspace(task, free_in('workspace', task.workspace))
  for _, host in ipairs(hosts) do
    local row, waits_turn = row_of(host, task)
    rows[#rows + 1] = row
    turn = turn or waits_turn
  end
  local scope, boot = scope_of(task, rows, denied, turn), boot_of_queue(task.queue)
  local short = (scope == 'workspace' or scope == 'fleet') and short_in_shared(scope, task) or {}
  local sent_to = boot and redis.call('HGET', key.boot(boot), 'host') or ''
  local deadline = redis.call('ZSCORE', key.pending, task.member)
  return {
    scope, short, place_of(task), rows, sent_to, int(grants_open_in_ms()), deadline and int(tonumber(deadline)) or '',
  }
end
