-- What every operation starts from: the time, the limits, and the counters behind KEYS. Values are
-- read in one command, decided on in Lua, and written once each at the end, every one with a TTL.
-- ARGV[1]: the time in ms, or "" for the server's own. ARGV[2]: what is added to each TTL.
-- ARGV[3]: the limits, as a JSON array of objects.

-- @include bucket
-- @include window
-- @include sliding

local SLACK_MS = tonumber(ARGV[2])
local kinds = {
  tokenBucket = bucket,
  leakyBucket = bucket,
  fixedWindow = window,
  quota = window,
  slidingWindowCounter = sliding,
}

local limits = cjson.decode(ARGV[3])
-- What the keys hold, by their place.
local values
-- For how long what is to be written stays, by the key's place.
local ttls = {}

local now = tonumber(ARGV[1])
if not now then
  -- Redis time, not that of its clients: they can disagree by more than a short window.
  local time = redis.call("TIME")
  now = time[1] * 1000 + floor(time[2] / 1000)
end

-- Reads the first `count` keys. False if the calendar periods that came along don't hold this moment:
-- the caller's clock is far from ours, and it asks again with the periods of this one.
local function read_values(count)
  values = redis.call("MGET", unpack(KEYS, 1, count))
  for _, limit in ipairs(limits) do
    limit.algorithm = kinds[limit.kind]
    if limit.ends and (now < limit.start or now >= limit.ends[#limit.ends]) then return false end
  end
  return true
end

local function wrong_period()
  return redis.error_reply("SLUICEPERIOD " .. text(now))
end

-- Reads the counter at a place into the table `c`, brought to the numbers of this limit.
local function load(c, place, limit, shift)
  c.place, c.key, c.shift, c.dirty, c.carried = place, KEYS[place], shift, false, false
  limit.algorithm.read(c, values[place], limit, now)
end

-- Keeps what became of a counter: later charges of this call see it, the end writes it.
local function save(c, limit)
  if not c.dirty then return end
  local algorithm = limit.algorithm
  if algorithm.flush then return algorithm.flush(c, limit, now) end
  local value, ttl = algorithm.write(c, limit, now)
  values[c.place], ttls[c.place] = value, ttl
end

local function write_counters()
  for place, ttl in pairs(ttls) do
    if ttl > 0 then redis.call("SET", KEYS[place], values[place], "PX", ttl + SLACK_MS)
    else redis.call("DEL", KEYS[place]) end
  end
end

-- For how long the key is still blocked; -1 is forever.
local function blocked_ms(place)
  local value = values[place]
  if not value then return 0 end
  local finish, length = string.match(value, "^(%d+):(%d+)$")
  if not finish then return -1 end
  -- No longer than it was meant to last, also after the clock stepped back.
  return max(0, min(tonumber(finish) - now, tonumber(length)))
end
