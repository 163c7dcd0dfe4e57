-- Adds a deposit. One that has expired is not added. Returns the time, and 1 if it was added.
-- KEYS[1]: the deposits. ARGV[1]: the time, see now. ARGV[2]: what is added to each TTL. ARGV[3]: its id. ARGV[4]: a JSON
-- array: units, when it expires, how long it may live at most, and when all of the limit is back.

-- @include deposits

local numbers = cjson.decode(ARGV[4])
local units, reset_at = numbers[1], numbers[4]
local ends = min(numbers[2], now + numbers[3])
if ends <= now then return { now, 0 } end
local state = state_of(1)
local list = state[LIST]
list[#list + 1] = { ARGV[3], units, now, ends }
-- Lua's sort is not stable: the place of the new one is found by hand.
local at = #list
while at > 1 and list[at - 1][EXPIRES] > ends do
  list[at], list[at - 1] = list[at - 1], list[at]
  at = at - 1
end
if #list > DEPOSITS_MAX then table.remove(list, 1) end
state[RESET], state[CLAIM], state[TAKEN] = reset_at, 0, now
state[LOW], state[RENEW] = ceil(units / 2), ends - floor((ends - now) / 2)
changed[1] = true
write_states()
return { now, 1 }
