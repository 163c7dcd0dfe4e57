-- Decides many requests in their order, each all or nothing: the fast path of decide, for charges
-- that are final and whose counters are single values. Nearly all requests take it.
-- KEYS: the keys of counters, each once. The marks of blocks are in them too.
-- ARGV[4]: the requests, see requests.
-- Reply: the time, then for each charge one number of at least 0 if it was decided in one step and so is admitted, see
--   quick; else -1 and its verdict, see verdicts.

-- @include call

if not read_values() then return wrong_period() end
-- @include quick-requests

local has_more = next_request()
while has_more and is_quick() do has_more = next_request() end
if not has_more then
  write_values()
  return reply
end

-- The long way, from the first request that needs it. From here on any key may have a list.
has_lists = true
-- @include counters
-- @include verdicts

-- One table for each charge of a request, used again by the next.
local weighed, admitted = {}, true

local function weigh(i)
  local w, limit, cost = weighed[i], charged[i], costs[i]
  if not w then w = {} weighed[i] = w end
  local key = first_key + distances[i]
  w.blocked = blocked_ms(key)
  load(w, key + parts[i] * PART_STEP, limit, 0)
  w.limit, w.cost = limit, cost
  w.allowed, w.remaining, w.retry, w.reset, w.before = limit.algorithm.weigh(w, limit, cost, now)
  if not w.allowed or w.blocked ~= 0 then admitted = false end
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
  reply[#reply + 1] = -1
  add_verdict(reply, limit, remaining, w.retry, reset, waits, w.blocked)
end

while has_more do
  if not is_quick() then
    admitted = true
    for i = 1, count do weigh(i) end
    for i = 1, count do answer(weighed[i]) end
  end
  has_more = next_request()
end
write_values()
return reply
