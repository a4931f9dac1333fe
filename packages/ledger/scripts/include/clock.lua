-- Redis TIME, the only clock of coordination. Microseconds have 16 digits and stay a string.
local clock_time = redis.call('TIME')
local now_us = clock_time[1] .. string.rep('0', 6 - #clock_time[2]) .. clock_time[2]
local now_ms = tonumber(string.sub(now_us, 1, -4))
