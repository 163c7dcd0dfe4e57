-- Decides many requests in their order, each all or nothing: the short way of decide, for charges
-- that are final and whose counters are single values. Nearly everything goes this way.
-- KEYS: counters, then blocks, each once.
-- ARGV[4]: a JSON array of numbers, for each charge: the place of its counter, that of its
--   block among the blocks, its limit (below 0: the last one of its request), cost. ARGV[5]: how many
--   of KEYS are counters.
-- Reply: the time, then a verdict for each charge.

-- @include counters
-- @include verdicts

local BEFORE_BLOCKS = tonumber(ARGV[5])

if not read_values(BEFORE_BLOCKS) then return wrong_period() end
local numbers = cjson.decode(ARGV[4])
local reply = { now }
-- One table for each charge of a request, used again by the next: a call decides a hundred.
local weighed, admitted = {}, true
local has_blocks = redis.call("EXISTS", unpack(KEYS, BEFORE_BLOCKS + 1)) > 0
if has_blocks then
  for place = BEFORE_BLOCKS + 1, #KEYS do values[place] = redis.call("GET", KEYS[place]) end
end

local function weigh(w, place, block, limit, cost)
  load(w, place, limit, 0)
  w.limit, w.cost, w.blocked = limit, cost, has_blocks and blocked_ms(BEFORE_BLOCKS + block) or 0
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
  save(w, limit)
  local waits = w.allowed and w.cost > 0 and w.before or 0
  add_verdict(reply, limit, remaining, w.retry, reset, waits, w.blocked)
end

-- Decides a request in one step if all its charges can; false if it has to go the long way.
local fresh = {}
local function is_quick(first, last)
  if has_blocks then return false end
  local from = #reply
  local n = from
  for at = first, last, 4 do
    local which, cost = numbers[at + 2], numbers[at + 3]
    local limit = limits[which < 0 and -which or which]
    local remaining, reset, value, ttl
    if cost > 0 then remaining, reset, value, ttl = limit.algorithm.quick(values[numbers[at]], limit, cost, now) end
    if not value then
      for i = n, from + 1, -1 do reply[i] = nil end
      return false
    end
    fresh[at], fresh[at + 1] = value, ttl
    reply[n + 1], reply[n + 2], reply[n + 3] = remaining, 0, reset
    n = n + 3
  end
  for at = first, last, 4 do
    local place = numbers[at]
    values[place], ttls[place] = fresh[at], fresh[at + 1]
  end
  return true
end

local function decide(first, last)
  local count = 0
  admitted = true
  for at = first, last, 4 do
    count = count + 1
    local which = numbers[at + 2]
    if not weighed[count] then weighed[count] = {} end
    weigh(weighed[count], numbers[at], numbers[at + 1], limits[which < 0 and -which or which], numbers[at + 3])
  end
  for i = 1, count do answer(weighed[i]) end
end

local first = 1
for at = 1, #numbers, 4 do
  if numbers[at + 2] < 0 then
    if not is_quick(first, at) then decide(first, at) end
    first = at + 4
  end
end
write_counters()
return reply
