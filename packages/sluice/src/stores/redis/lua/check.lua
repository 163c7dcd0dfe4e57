-- Decides many requests in their order, each all or nothing: the short way of decide, for charges
-- that are final and whose counters are single values. Nearly everything goes this way.
-- KEYS: the keys of counters, which have the marks of blocks too, each once.
-- ARGV[3]: also sets of limits that a limiter charges together, as { set = { part, limit, part, … } }.
-- ARGV[4]: a JSON array of numbers, for each charge, or charges of a set: the place of its counter or of
--   the limiter's value, its limit or set (below 0: the last one of its request), cost.
-- Reply: the time, then a verdict for each charge.

-- @include call

if not read_values() then return wrong_period() end
-- @include quick-requests

local has_more = next_request()
while has_more and is_quick() do has_more = next_request() end
if not has_more then
  write_values()
  return reply
end

-- The long way, from the first request on that needs it.
-- @include counters
-- @include verdicts

-- One table for each charge of a request, used again by the next.
local weighed, admitted = {}, true

local function weigh(place, limit, cost)
  count = count + 1
  local w = weighed[count]
  if not w then w = {} weighed[count] = w end
  w.blocked = blocked_ms(key_of(place))
  load(w, place, limit, 0)
  w.limit, w.cost = limit, cost
  w.allowed, w.remaining, w.retry, w.reset, w.before = limit.algorithm.weigh(w, limit, cost, now)
  if not w.allowed or w.blocked ~= 0 then admitted = false end
  return true
end

local function answer(w)
  local limit, remaining, reset = w.limit, w.remaining, w.reset
  if admitted then
    if w.cost > 0 then limit.algorithm.take(w, limit, w.cost, now, w.before) end
  elseif w.allowed then
    remaining, reset = as_it_stands(w, limit)
  end
  if admitted or not w.allowed then save_standing(w, limit) else save(w, limit) end
  local waits = w.allowed and w.cost > 0 and w.before or 0
  add_verdict(reply, limit, remaining, w.retry, reset, waits, w.blocked)
end

while has_more do
  if not is_quick() then
    count, admitted = 0, true
    each_charge(weigh)
    for i = 1, count do answer(weighed[i]) end
  end
  has_more = next_request()
end
write_values()
return reply
