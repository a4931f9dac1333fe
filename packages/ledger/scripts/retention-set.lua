#!lua flags=allow-oom
-- retention-set: sets how much of what has ended is kept, as far as it is named; without arguments it tells.
-- ARGV: name, value, ... of record_ms, output_ms, records_max, records_min_ms, jobs_max
-- Replies: {record_ms, output_ms, records_max, records_min_ms, jobs_max} as in effect
-- Keeps: Q1. Idempotent under re-send: it sets, and never adds.
--- @include "begin"
-- A ledger that nobody has opened has no settings: its birth must not look as if it had been open before.
if schema and #ARGV > 0 then redis.call('HSET', key.fleet, unpack(ARGV)) end
local set_to = redis.call('HMGET', key.fleet, 'record_ms', 'output_ms', 'records_max', 'records_min_ms', 'jobs_max')
local defaults = { RECORD_RETENTION_MS, OUTPUT_RETENTION_MS, RECORDS_MAX, RECORDS_MIN_MS, JOBS_MAX }
for i = 1, #defaults do set_to[i] = set_to[i] or int(defaults[i]) end
return set_to
