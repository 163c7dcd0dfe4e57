-- What every operation starts from: the time, the limits, and what the keys hold. Values are read in
-- one command, decided on in Lua, and written once each at the end, every one with a TTL.
-- ARGV[1]: the time, see now. ARGV[2]: what is added to each TTL. ARGV[3]: the limits, as a JSON array
-- of objects.

-- @include now
-- @include whole

local SLACK_MS = tonumber(ARGV[2])
local limits = cjson.decode(ARGV[3])
-- By the key's place: what it holds, and of a single value for how long what is to be written stays, and
-- by how much an integer changes that stays for as long as it would have.
local values
local ttls, steps = {}, {}

-- @include parts

-- Reads all keys. False if the calendar periods that came along don't hold this moment: the caller's
-- clock is far from ours, and it asks again with the periods of this one.
local function read_values()
  values = redis.call("MGET", unpack(KEYS))
  for _, limit in ipairs(limits) do
    if limit.ends and (now < limit.start or now >= limit.ends[#limit.ends]) then return false end
  end
  return true
end

local function wrong_period()
  return redis.error_reply("SLUICEPERIOD " .. text(now))
end

-- Numbers are written by us: what a command makes of them takes longer. TTLs are rounded up a little,
-- so that most are the same.
local TTL_STEP_MS = 128

local function write_values()
  local texts = {}
  -- Many are the same: a window grows by 1.
  local function text_of(number)
    local known = texts[number]
    if not known then
      known = text(number)
      texts[number] = known
    end
    return known
  end
  for place, ttl in pairs(ttls) do
    local value = values[place]
    if type(value) == "number" then value = text(value) end
    if ttl < 0 then
      redis.call("SET", KEYS[place], value, "KEEPTTL")
    elseif ttl > 0 then
      redis.call("SET", KEYS[place], value, "PX", text_of(ttl + SLACK_MS + (-ttl) % TTL_STEP_MS))
    else
      redis.call("DEL", KEYS[place])
    end
  end
  for place, step in pairs(steps) do
    if not ttls[place] then redis.call("INCRBY", KEYS[place], text_of(step)) end
  end
  for key, needed_ms in pairs(changes) do write_list(key, needed_ms) end
end
