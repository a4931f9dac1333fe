-- Names of all keys, twin of src/keys.ts. KEYS[1] is the root; all keys share its hash tag.
local root = KEYS[1]
local key = {}

-- Lua prints 14 digits of a number by itself.
local function int(number)
  return string.format('%.0f', number)
end

-- Most keys of a script bear the same few ids.
local known_ids = {}

local function id_part(id)
  if known_ids[id] then return id end
  if type(id) ~= 'string' or #id > 64 or not string.find(id, '^%w[%w_-]*$') then
    error('BADID not an id of the grammar')
  end
  known_ids[id] = true
  return id
end

local function of_task(suffix)
  return function(workspace, task)
    return root .. ':task:' .. id_part(workspace) .. ':' .. id_part(task) .. suffix
  end
end

local function of_one(prefix, suffix)
  return function(id)
    return root .. prefix .. id_part(id) .. suffix
  end
end

local function of_scope(prefix)
  return function(scope, id)
    return root .. prefix .. id_part(scope) .. ':' .. id_part(id)
  end
end

key.fleet = root .. ':fleet'
key.fence = root .. ':fence'
key.hosts = root .. ':hosts'
key.reservations = root .. ':reservations'
key.pending = root .. ':pending'
key.healing = root .. ':healing'
key.waiting = root .. ':waiting'
key.workspaces = root .. ':workspaces'
key.retained = root .. ':retained'

key.task = of_task('')
key.body = of_task(':body')
key.events = of_task(':events')
key.logs = of_task(':logs')
key.marks = of_task(':marks')
key.output = of_task(':output')
key.followers = of_task(':followers')
key.news = of_task(':news')

key.index = of_one(':index:', '')
key.ended = of_one(':ended:', '')
key.reservation = of_one(':reservation:', '')
key.gone = of_one(':gone:', '')
key.boot = of_one(':boot:', '')
key.boot_tokens = of_one(':boot:', ':tokens')
key.boot_missing = of_one(':boot:', ':missing')
key.boot_routes = of_one(':boot:', ':routes')
key.bell = of_one(':boot:', ':bell')
key.host = of_one(':host:', '')
key.host_boots = of_one(':host:', ':boots')
key.host_dead = of_one(':host:', ':dead')
key.host_images = of_one(':host:', ':images')
key.host_image_notes = of_one(':host:', ':image-notes')
key.host_runtimes = of_one(':host:', ':runtimes')

-- The fleet's own scope has the id `all`.
key.sum = of_scope(':sum:')
key.limits = of_scope(':limits:')
key.backlog = of_scope(':backlog:')
key.waiters = of_scope(':waiters:')
