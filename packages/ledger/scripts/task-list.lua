#!lua flags=no-writes
-- task-list: tasks of a workspace, newest first: one step through its index that looks at so many and no more.
-- ARGV: workspace, cursor ('' from the newest), most to show, most to look at, image ('' any; with or without its
--   tag), greatest age in ms ('' any), status, ... (none: any)
-- Replies: {{view, ...}, looked at, accepted_ms of the oldest looked at ('' for none), cursor ('' at the end)}
-- Keeps: W1
--- @include "begin"
--- @include "view"
local workspace, index = ARGV[1], key.index(ARGV[1])
local show_max, image = tonumber(ARGV[3]), ARGV[5]
local since = ARGV[6] ~= '' and now_ms - tonumber(ARGV[6]) or 0
local statuses, any = {}, #ARGV == 6
for i = 7, #ARGV do statuses[ARGV[i]] = true end

-- The cursor names the last one looked at; should that have expired, what was accepted with it is left out.
local function first()
  if ARGV[2] == '' then return 0 end
  local accepted, id = string.match(ARGV[2], '^(%d+) (.+)$')
  local rank = redis.call('ZREVRANK', index, id)
  return rank and rank + 1 or redis.call('ZCOUNT', index, accepted, '+inf')
end

local function wanted(id)
  local found = redis.call('HMGET', key.task(workspace, id), 'status', 'image')
  if not found[1] or not (any or statuses[found[1]]) then return false end
  return image == '' or found[2] == image or string.sub(found[2], 1, #image + 1) == image .. ':'
end

local from = first()
local flat = redis.call('ZRANGE', index, from, from + tonumber(ARGV[4]) - 1, 'REV', 'WITHSCORES')
local views, looked, oldest = {}, 0, ''
for i = 1, #flat, 2 do
  local id, accepted = flat[i], flat[i + 1]
  if tonumber(accepted) < since then return { views, looked, oldest, '' } end
  looked, oldest = looked + 1, accepted
  if wanted(id) then views[#views + 1] = view_of(load_shown(workspace, id)) end
  if #views == show_max then return { views, looked, oldest, accepted .. ' ' .. id } end
end
local done = #flat < 2 * tonumber(ARGV[4])
return { views, looked, oldest, done and '' or oldest .. ' ' .. flat[#flat - 1] }
