#!lua flags=allow-oom
-- events-heartbeat: tells readers that the task's worker is alive. Stored nowhere, so it never moves a cursor.
-- ARGV: workspace, task
-- Replies: receivers
-- Keeps: V1
--- @include "begin"
return redis.call('PUBLISH', key.news(ARGV[1], ARGV[2]), 'heartbeat ' .. int(now_ms))
