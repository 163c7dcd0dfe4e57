-- Counts refusals of keys, and blocks keys that were refused too often: the twin of algorithms/escalation.ts.
-- KEYS: for each report the key's escalation, then the limiter's values that are blocked with it.
-- ARGV[1]: the time, see now. ARGV[2]: what is added to each TTL.
-- ARGV[3]: a JSON array, for each report an array: how many values it has, refusals, how old the first of them is,
--   how many raise the level, window, for how long a level is remembered, then how long each level blocks.
-- Reply: for each report the level, for how long it is blocked from now on (0: it is not), how many refusals are left.
-- An escalation is four doubles: when the window began, refusals in it, the level, when the latest block ends.

-- @include set-block

local STATE = "<dddd"
local TERMS = 6

local function read_state(key)
  local packed = redis.call("GET", key)
  if not packed then return 0, 0, 0, 0 end
  return struct.unpack(STATE, packed)
end

local function write_state(key, kept_ms, from, refusals, level, finish)
  local packed = struct.pack(STATE, from, refusals, level, finish)
  redis.call("SET", key, packed, "PX", text(ceil(kept_ms) + slack_ms))
end

-- Returns the level, for how long it blocks from now on, and how many refusals are left.
local function count(key, report)
  local refusals, age, needed, window, forget = unpack(report, 2, TERMS)
  local levels = #report - TERMS
  local from, before, level, finish = read_state(key)
  finish = min(finish, now + (report[TERMS + level] or 0))
  level = level > 0 and now < finish + forget and min(level, levels) or 0
  if level > 0 and now < finish then
    write_state(key, finish + forget - now, now, 0, level, finish)
    return level, 0, needed
  end
  local first = now - age
  if before == 0 or first >= from + window or from > now then from, before = first, 0 end
  local counted = before + refusals
  if counted < needed then
    local left = level == 0 and 0 or finish + forget - now
    write_state(key, max(1, from + window - now, left), from, counted, level, level == 0 and 0 or finish)
    return level, 0, needed - counted
  end
  level = min(level + 1, levels)
  local length = report[TERMS + level]
  write_state(key, length + forget, now, 0, level, now + length)
  return level, length, needed
end

local reply, at = {}, 1
for _, report in ipairs(cjson.decode(ARGV[3])) do
  local level, length, left = count(KEYS[at], report)
  for i = 1, length > 0 and report[1] or 0 do set_block(KEYS[at + i], length, true) end
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = level, length, left
  at = at + 1 + report[1]
end
return reply
