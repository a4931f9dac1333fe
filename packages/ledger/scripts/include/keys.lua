-- Names of all keys, twin of src/keys.ts. KEYS[1] is the root; all keys share its hash tag. src/key-names.ts puts
-- `key.task(workspace, id)` in place: a function for each name would be built anew at every call of a script.
local root = KEYS[1]

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

--- @key fleet = :fleet
--- @key fence = :fence
--- @key hosts = :hosts
--- @key reservations = :reservations
--- @key pending = :pending
--- @key healing = :healing
--- @key waiting = :waiting
--- @key workspaces = :workspaces
--- @key retained = :retained

--- @key task = :task:%s:%s
--- @key body = :task:%s:%s:body
--- @key events = :task:%s:%s:events
--- @key logs = :task:%s:%s:logs
--- @key marks = :task:%s:%s:marks
--- @key output = :task:%s:%s:output
--- @key followers = :task:%s:%s:followers
--- @key news = :task:%s:%s:news

--- @key index = :index:%s
--- @key ended = :ended:%s
--- @key reservation = :reservation:%s
--- @key gone = :gone:%s
--- @key boot = :boot:%s
--- @key boot_tokens = :boot:%s:tokens
--- @key boot_missing = :boot:%s:missing
--- @key boot_routes = :boot:%s:routes
--- @key bell = :boot:%s:bell
--- @key host = :host:%s
--- @key host_boots = :host:%s:boots
--- @key host_dead = :host:%s:dead
--- @key host_images = :host:%s:images
--- @key host_image_notes = :host:%s:image-notes
--- @key host_runtimes = :host:%s:runtimes

-- The fleet's own scope has the id `all`.
--- @key sum = :sum:%s:%s
--- @key limits = :limits:%s:%s
--- @key backlog = :backlog:%s:%s
--- @key waiters = :waiters:%s:%s
