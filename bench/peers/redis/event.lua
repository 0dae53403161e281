-- One event of one user, all or nothing. Redis runs one script at a time, so no other event runs in between.
--
-- KEYS  1 the user's hash  2 the leaderboard's sorted set  3 the idempotency key, if the event has one
-- ARGV  1 the event's id  2 the user's id  3 the metric  4 the value in millionths
--       5 the day, in days since 1970 (UTC)  6 the millionths of the metric's total that earn once
--       7 the points that they earn  8 how long a key is stored, in seconds
--
-- Returns {kind, event id, total, points, earned, streak, 1 if it was extended, rank, previous rank}.
-- Kind is 0 for an event that counts, 1 for a repeated one, 2 if the total would be too large. Totals are
-- whole millionths, exact up to 2^53. Ranks count from 0; -1 means that the user is not on the board.
local event, member, metric = ARGV[1], ARGV[2], ARGV[3]
local value, day = tonumber(ARGV[4]), tonumber(ARGV[5])
local step, award = tonumber(ARGV[6]), tonumber(ARGV[7])

local held = redis.call('HMGET', KEYS[1], metric, metric .. ':highest', 'points', 'streak', 'last')
local total, highest, points = tonumber(held[1] or 0), tonumber(held[2] or 0), tonumber(held[3] or 0)
local streak, last = tonumber(held[4] or 0), tonumber(held[5] or -2)
local rank = redis.call('ZREVRANK', KEYS[2], member) or -1

if KEYS[3] then
  local first = redis.call('GET', KEYS[3])
  if first then
    if last < day - 1 then streak = 0 end
    return { 1, first, total, points, 0, streak, 0, rank, rank }
  end
end

total = total + value
if math.abs(total) > 9007199254000000 then return { 2 } end

-- Points follow the highest total: if the total goes down and up again, nothing is earned twice or lost.
local earned = 0
if total > highest then
  earned = (math.floor(total / step) - math.floor(highest / step)) * award
  highest, points = total, points + earned
end

local extended = 0
if value > 0 and last ~= day then
  streak = last == day - 1 and streak + 1 or 1
  last, extended = day, 1
elseif last < day - 1 then
  streak = 0
end

if KEYS[3] then redis.call('SET', KEYS[3], event, 'NX', 'EX', ARGV[8]) end
redis.call('HSET', KEYS[1], metric, total, metric .. ':highest', highest, 'points', points, 'streak', streak,
  'last', last)

local previous = rank
if total > 0 then
  redis.call('ZADD', KEYS[2], total, member)
  rank = redis.call('ZREVRANK', KEYS[2], member)
else
  redis.call('ZREM', KEYS[2], member)
  rank = -1
end
return { 0, event, total, points, earned, streak, extended, rank, previous }
