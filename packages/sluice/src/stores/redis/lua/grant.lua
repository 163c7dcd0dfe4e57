-- An operator's verbs on counters: grants units, capped at full, or forgets all that was used.
-- KEYS: counters and open receipts, each once.
-- ARGV[4]: a JSON array of numbers, for each charge: places of counter and open receipts, its limit,
--   cost (-1: forget all), shift.

-- @include counters

local CHARGE_FIELDS = 5

if not knows_periods() then return wrong_period() end
local numbers = cjson.decode(ARGV[4])
for at = 1, #numbers, CHARGE_FIELDS do
  local limit, cost = limits[numbers[at + 2]], numbers[at + 3]
  local kind = kinds[limit.kind]
  local c = counter_of(numbers[at], limit, numbers[at + 4])
  if cost >= 0 then
    kind.grant(c, limit, cost, now)
  else
    redis.call("DEL", c.key)
    values[numbers[at]], counters[numbers[at]] = false, nil
    c = counter_of(numbers[at], limit, numbers[at + 4])
  end
  receipts.lower_all(KEYS[numbers[at + 1]], c, limit, now)
end
write_counters()
return { now }
