-- What deposits of one place are kept as, the twin of memory/memory-deposits.ts: when all of the limit is back; until
-- when one process fetches the next lease; since when demand is counted, its asks and units; below how many units and from
-- when on the next lease is due; when units were last taken; and a list of [id, units left, written at, expires at], those
-- that expire first first. Packed, in one value.

-- @include now
-- @include whole

local SLACK_MS = tonumber(ARGV[2])
local RESET, CLAIM, SINCE, ASKS, ASKED, LOW, RENEW, TAKEN, LIST = 1, 2, 3, 4, 5, 6, 7, 8, 9
local ID, LEFT, WRITTEN, EXPIRES = 1, 2, 3, 4
local DEMAND_MS, GRACE_MS, CLAIM_MS, ASKS_WARM, DEPOSITS_MAX = 5000, 10000, 1000, 2, 32

-- By the key's index in KEYS: what it holds, and whether that has to be written.
local states, changed = {}, {}

local function state_of(key)
  local state = states[key]
  if state then return state end
  local value = redis.call("GET", KEYS[key])
  state = value and cmsgpack.unpack(value) or { 0, 0, now, 0, 0, 0, 0, 0, {} }
  states[key] = state
  return state
end

-- Not before it was written either: a clock that stepped back must not make it longer.
local function is_live(deposit)
  return now >= deposit[WRITTEN] and now < deposit[EXPIRES]
end

-- Ends what was written later, after the clock stepped back: when it is there again, the lease has long ended at home.
local function end_later(state, key)
  for _, deposit in ipairs(state[LIST]) do
    if now < deposit[WRITTEN] then deposit[WRITTEN], changed[key] = math.huge, true end
  end
end

local function live_units(state)
  local units = 0
  for _, deposit in ipairs(state[LIST]) do
    if is_live(deposit) then units = units + deposit[LEFT] end
  end
  return units
end

local function write_states()
  for key in pairs(changed) do
    local state, kept, kept_ms = states[key], {}, 2 * DEMAND_MS
    for _, deposit in ipairs(state[LIST]) do
      if deposit[EXPIRES] + GRACE_MS > now then
        kept[#kept + 1] = deposit
        kept_ms = max(kept_ms, deposit[EXPIRES] + GRACE_MS - now)
      end
    end
    state[LIST] = kept
    redis.call("SET", KEYS[key], cmsgpack.pack(state), "PX", text(kept_ms + SLACK_MS))
  end
end
