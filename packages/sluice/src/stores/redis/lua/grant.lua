-- An operator's verbs on counters: grants units, capped at full, or forgets all that was used.
-- KEYS: counters and open receipts, each once.
-- ARGV[4]: a JSON array of numbers, for each charge: places of counter and open receipts, its limit,
--   cost (-1: forget all), shift.

-- @include all-counters

local CHARGE_FIELDS = 5

if not read_values() then return wrong_period() end
local numbers, c = cjson.decode(ARGV[4]), {}
for at = 1, #numbers, CHARGE_FIELDS do
  local place, open = numbers[at], KEYS[numbers[at + 1]]
  local limit, cost, shift = limits[numbers[at + 2]], numbers[at + 3], numbers[at + 4]
  if cost < 0 then
    -- All is forgotten but a block, which stands in front of the value.
    if limit.lifeMs then redis.call("DEL", KEYS[place]) end
    if get(place) then set(place, false, 0) end
  end
  load(c, place, limit, shift)
  if cost >= 0 then limit.algorithm.grant(c, limit, cost, now) end
  receipts.lower_all(open, c, limit, now)
  save(c, limit)
end
write_values()
return { now }
