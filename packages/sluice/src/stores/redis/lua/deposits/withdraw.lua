-- Removes a deposit, or all of them.
-- KEYS[1]: the deposits. ARGV[1]: the time, see now. ARGV[2]: what is added to each TTL. ARGV[3]: the id; "": all.
-- ARGV[4]: for how long nothing was taken, or it stays; 0: in any case.
-- Reply: the time, and the units that were left; -1 if it stays.

-- @include deposits

local id, idle_ms, state = ARGV[3], tonumber(ARGV[4]), state_of(1)
local rest, left, found = {}, 0, false
for _, deposit in ipairs(state[LIST]) do
  if id == "" or deposit[ID] == id then
    left, found = left + deposit[LEFT], true
  else
    rest[#rest + 1] = deposit
  end
end
if not found then return { now, 0 } end
if idle_ms > 0 and now - state[TAKEN] < idle_ms then return { now, -1 } end
state[LIST], changed[1] = rest, true
write_states()
return { now, left }
