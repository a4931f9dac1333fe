-- L1: fence = max(previous + 1, Redis microseconds), on decimal strings: neither a lost tail nor a clock that
-- stepped back makes it fall, and no float ever rounds it.
local function fence_after(previous)
  local digits, carry = {}, 1
  for i = #previous, 1, -1 do
    local digit = string.byte(previous, i) - 48 + carry
    carry = digit == 10 and 1 or 0
    digits[i] = carry == 1 and '0' or tostring(digit)
  end
  return (carry == 1 and '1' or '') .. table.concat(digits)
end

local function fence_less(left, right)
  if #left ~= #right then return #left < #right end
  return left < right
end

local function next_fence()
  local fence = fence_after(redis.call('GET', key.fence) or '0')
  if fence_less(fence, now_us) then fence = now_us end
  redis.call('SET', key.fence, fence)
  return fence
end

local function raise_fence_floor(seen)
  if fence_less(redis.call('GET', key.fence) or '0', seen) then redis.call('SET', key.fence, seen) end
end
