-- What every operation starts from: the time, the limits, and what the keys hold. Values are read in
-- one command, decided on in Lua, and written once each at the end, every one with a TTL.
-- ARGV[1]: the time in ms, or "" for the server's own. ARGV[2]: what is added to each TTL.
-- ARGV[3]: the limits, as a JSON array of objects.

-- @include whole

local SLACK_MS = tonumber(ARGV[2])
local limits = cjson.decode(ARGV[3])
-- What the keys hold, and for how long what is to be written stays, by the key's place.
local values
local ttls = {}

local now = tonumber(ARGV[1])
if not now then
  -- Redis time, not that of its clients: they can disagree by more than a short window.
  local time = redis.call("TIME")
  now = time[1] * 1000 + floor(time[2] / 1000)
end

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

local function write_values()
  for place, ttl in pairs(ttls) do
    if ttl > 0 then redis.call("SET", KEYS[place], values[place], "PX", ttl + SLACK_MS)
    else redis.call("DEL", KEYS[place]) end
  end
end
