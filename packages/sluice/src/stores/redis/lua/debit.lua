-- Charges without asking: what exceeds the limit is debt.
-- KEYS: as of peek.
-- ARGV[4]: as of peek.
-- Reply: the time, then for each charge the verdict on a cost of nothing and what is in use.

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
  local algorithm = limit.algorithm
  if cost > 0 then algorithm.force(c, limit, cost, now) end
  local _, remaining, retry, reset, before = algorithm.weigh(c, limit, 0, now)
  add_verdict(reply, limit, remaining, retry, reset, 0, blocked)
  reply[#reply + 1] = algorithm.status and algorithm.status(c, limit, now) or before
  save(c, limit)
end
write_values()
return reply
