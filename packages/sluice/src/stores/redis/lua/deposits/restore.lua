-- Returns units to the deposits that they came from; to those that are gone, nothing.
-- KEYS[1]: the deposits. ARGV[1]: the time, see now. ARGV[2]: what is added to each TTL. ARGV[3]: a JSON array: the id and
-- units of each part.

-- @include deposits

local parts, state = cjson.decode(ARGV[3]), state_of(1)
for i = 1, #parts, 2 do
  for _, deposit in ipairs(state[LIST]) do
    if deposit[ID] == parts[i] then
      deposit[LEFT] = deposit[LEFT] + parts[i + 1]
      state[ASKED] = max(0, state[ASKED] - parts[i + 1])
      changed[1] = true
    end
  end
end
write_states()
return { now }
