#!lua flags=allow-oom
-- task-requeue: hands an attempt back. The reservation drains until release.
-- ARGV: workspace, task, boot, token, generation, fence, counted (0 | 1), requeued event,
--   failures by JSON: cancelled, attempts exhausted, engine unavailable
-- Replies: {requeued, delivery, queue, job, promotions} · {settled, outcome, promotions} · {fenced}
-- Keeps: L2 L3 T1 T3 V1. Idempotent under re-send by the reservation, which notes what became of its attempt.
--- @include "begin"
--- @include "ending"
--- @include "holder"
local grant = { boot = ARGV[3], token = ARGV[4], generation = ARGV[5], fence = ARGV[6] }
local reservation = key.reservation(grant.token)
local task = load_task(ARGV[1], ARGV[2])
if not task then return { 'fenced' } end

local function answer(delivery, promotions)
  if delivery == '' then return { 'settled', task.outcome, promotions } end
  return { 'requeued', delivery, task.queue, job_of(task, delivery), promotions }
end

local past = record(reservation)
if past and past.gave_back_fence == grant.fence and past.boot == grant.boot and past.attempt == grant.generation then
  return answer(past.next_delivery, {})
end
if not holds(task, grant) then return { 'fenced' } end

local promotions = {}
local failures = { cancelled = ARGV[9], exhausted = ARGV[10], unavailable = ARGV[11] }
give_back(task, ARGV[7] == '1', ARGV[8], failures, promotions)
if terminal(task) then add_heads(task, promotions) end
local next_delivery = terminal(task) and '' or task.delivery
redis.call('HSET', reservation, 'gave_back_fence', grant.fence, 'next_delivery', next_delivery)
return answer(next_delivery, promotions)
