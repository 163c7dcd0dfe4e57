-- What decide would answer to each charge alone, with what is left now and nothing taken.
-- KEYS: counters, and the values of their limiters, each once.
-- ARGV[4]: a JSON array of numbers, for each charge: places of counter and limiter's value, its
--   limit, cost, shift.
-- Reply: the time, then a verdict for each charge.

-- @include all-counters
-- @include verdicts

local CHARGE_FIELDS = 5

if not read_values() then return wrong_period() end
local reply, c = { now }, {}
local numbers = cjson.decode(ARGV[4])
for at = 1, #numbers, CHARGE_FIELDS do
  local limit, cost = limits[numbers[at + 2]], numbers[at + 3]
  local blocked = blocked_ms(numbers[at + 1])
  load(c, numbers[at], limit, numbers[at + 4])
  local allowed, remaining, retry, reset, before = limit.algorithm.weigh(c, limit, cost, now)
  if allowed then remaining, reset = as_it_stands(c, limit) end
  save(c, limit)
  local delay = allowed and cost > 0 and before or 0
  add_verdict(reply, limit, remaining, retry, reset, delay, blocked)
end
write_values()
return reply
