#!lua flags=no-writes
-- task-outcome: the terminal record and, while it is retained, the output text.
-- ARGV: workspace, task
-- Replies: {outcome, output} ('' where the text is gone or was none) · {} where unknown or not terminal
-- Keeps: T1 W1
--- @include "begin"
local task = load_task(ARGV[1], ARGV[2])
if not task or not terminal(task) then return {} end
return { task.outcome, redis.call('GET', key.output(ARGV[1], ARGV[2])) or '' }
