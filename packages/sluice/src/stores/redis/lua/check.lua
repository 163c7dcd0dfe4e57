-- Decides many requests in their order, each all or nothing: the short way of decide, for charges
-- that are final and whose counters are single values. Nearly everything goes this way.
-- KEYS: counters and blocks, each once.
-- ARGV[4]: a JSON array of numbers, for each charge: places of counter and block, its limit (below
--   0: the last one of its request), cost.
-- Reply: the time, then a verdict for each charge.

-- @include counters
-- @include verdicts

if not knows_periods() then return wrong_period() end
local numbers = cjson.decode(ARGV[4])
local reply = { now }
-- One table for each charge of a request, used again by the next: a call decides a hundred.
local weighed, count, admitted = { {} }, 0, true

local function answer()
  for i = 1, count do
    local w = weighed[i]
    local limit, remaining, reset = w.limit, w.remaining, w.reset
    if admitted then
      if w.cost > 0 then limit.algorithm.take(w, limit, w.cost, now, w.before) end
    elseif w.allowed then
      remaining, reset = as_it_stands(w, limit)
    end
    save(w, limit)
    local waits = w.allowed and w.cost > 0 and w.before or 0
    add_verdict(reply, limit, remaining, w.retry, reset, waits, w.blocked)
  end
end

for at = 1, #numbers, 4 do
  count = count + 1
  local w = weighed[count]
  if not w then w = {} weighed[count] = w end
  local which, cost, block = numbers[at + 2], numbers[at + 3], numbers[at + 1]
  local limit = limits[which < 0 and -which or which]
  load(w, numbers[at], limit, 0)
  w.limit, w.cost, w.blocked = limit, cost, values[block] and blocked_ms(block) or 0
  w.allowed, w.remaining, w.retry, w.reset, w.before = limit.algorithm.weigh(w, limit, cost, now)
  if not w.allowed or w.blocked ~= 0 then admitted = false end
  if which < 0 then
    answer()
    count, admitted = 0, true
  end
end
write_counters()
return reply
