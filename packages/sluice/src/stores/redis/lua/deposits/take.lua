-- Takes units out of deposits, for several asks in their order, each all or nothing.
-- KEYS: the values of deposits and of limiters, which have the marks of blocks; each once.
-- ARGV[1]: the time, see now. ARGV[2]: what is added to each TTL. ARGV[3]: for each ask five numbers, as a JSON array: the
-- index of its deposits and of its limiter's value in KEYS, units, how long they have to live, and 1 if the ask is new.
-- Reply: the time, then a list for each ask: units left, ms until all of the limit is back, ms of a block (-1: forever),
-- 1 if the next lease is due, asks and units asked for lately and in how many ms; then the id and units of each part.

-- @include deposits
-- @include block-mark

local function take_from(usable, units)
  local parts, missing = {}, units
  for _, deposit in ipairs(usable) do
    local taken = min(missing, deposit[LEFT])
    if taken > 0 then
      deposit[LEFT], missing = deposit[LEFT] - taken, missing - taken
      parts[#parts + 1], parts[#parts + 2] = deposit[ID], taken
    end
  end
  return parts
end

-- The older half of what is remembered fades every so often; after a pause nothing of it counts.
local function note_demand(state, units)
  local age = now - state[SINCE]
  if age >= 2 * DEMAND_MS or age < 0 then
    state[SINCE], state[ASKS], state[ASKED] = now, 0, 0
  elseif age >= DEMAND_MS then
    state[SINCE] = state[SINCE] + floor(age / 2)
    state[ASKS], state[ASKED] = floor(state[ASKS] / 2), floor(state[ASKED] / 2)
  end
  state[ASKS], state[ASKED] = state[ASKS] + 1, state[ASKED] + units
end

local function may_claim(state, is_covered)
  if state[ASKS] < ASKS_WARM then return false end
  if now < state[CLAIM] and state[CLAIM] <= now + CLAIM_MS then return false end
  return not is_covered or live_units(state) < state[LOW] or now >= state[RENEW]
end

local function answer(state, blocked, is_due, parts)
  local reply = { live_units(state), max(0, state[RESET] - now), blocked, is_due and 1 or 0 }
  reply[5], reply[6], reply[7] = state[ASKS], state[ASKED], max(0, now - state[SINCE])
  for i = 1, #parts do reply[7 + i] = parts[i] end
  return reply
end

local function take(key, value, units, life, is_new)
  local state = state_of(key)
  end_later(state, key)
  local _, _, blocked = unmark(redis.call("GET", KEYS[value]), now)
  if blocked ~= 0 then return answer(state, blocked, false, {}) end
  local usable, there = {}, 0
  for _, deposit in ipairs(state[LIST]) do
    if is_live(deposit) and deposit[EXPIRES] > now + life then
      usable[#usable + 1], there = deposit, there + deposit[LEFT]
    end
  end
  local is_covered = units > 0 and there >= units
  local parts = is_covered and take_from(usable, units) or {}
  if is_covered then state[TAKEN] = now end
  if is_new then note_demand(state, units) end
  local is_due = is_new and may_claim(state, is_covered)
  if is_due then state[CLAIM] = now + CLAIM_MS end
  if is_covered or is_new then changed[key] = true end
  return answer(state, blocked, is_due, parts)
end

local numbers, reply = cjson.decode(ARGV[3]), { now }
for i = 1, #numbers, 5 do
  reply[#reply + 1] = take(numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3], numbers[i + 4] == 1)
end
write_states()
return reply
