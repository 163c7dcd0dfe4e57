-- What every operation starts from: the time, the limits, and the counters behind KEYS. Values are
-- read in one command, decided on in Lua, and written once each at the end, every one with a TTL.
-- ARGV[1]: the time in ms, or "" for the server's own. ARGV[2]: what is added to each TTL.
-- ARGV[3]: the limits, as a JSON array of objects.

local SLACK_MS = tonumber(ARGV[2])
local kinds = {}

-- @include bucket
-- @include window
-- @include sliding
-- @include entries
-- @include receipts

kinds.tokenBucket, kinds.leakyBucket = bucket, bucket
kinds.fixedWindow, kinds.quota = window, window
kinds.slidingWindowCounter = sliding
kinds.slidingWindowLog, kinds.concurrency = entries, entries

local limits = cjson.decode(ARGV[3])
local values = redis.call("MGET", unpack(KEYS))
local counters = {}

local now = tonumber(ARGV[1])
if not now then
  -- Redis time, not that of its clients: they can disagree by more than a short window.
  local time = redis.call("TIME")
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Whether the calendar periods that came along hold this moment. If not, the caller's clock is far
-- from ours: it asks again with the periods of this one.
local function knows_periods()
  for _, limit in ipairs(limits) do
    if limit.ends and (now < limit.start or now >= limit.ends[#limit.ends]) then return false end
  end
  return true
end

local function wrong_period()
  return redis.error_reply("SLUICEPERIOD " .. text(now))
end

-- The counter of a key, brought to the numbers of this limit.
local function counter_of(index, limit, shift)
  local c = counters[index]
  if c and c.limit == limit then return c end
  if c then
    -- The same counter under other numbers in one call: written first, then read as they would.
    local kind = kinds[c.limit.kind]
    if kind.write then values[index] = c.dirty and kind.write(c, c.limit, now) or values[index]
    elseif c.dirty then kind.flush(c, c.limit, now) end
  end
  local wasDirty = c and c.dirty or false
  c = { key = KEYS[index], limit = limit, shift = shift, dirty = wasDirty }
  counters[index] = c
  kinds[limit.kind].read(c, values[index], limit, now)
  c.dirty = c.dirty or wasDirty
  return c
end

local function write_counters()
  for _, c in pairs(counters) do
    local kind = kinds[c.limit.kind]
    if c.dirty and kind.flush then
      kind.flush(c, c.limit, now)
    elseif c.dirty then
      local value, ttl = kind.write(c, c.limit, now)
      if ttl > 0 then redis.call("SET", c.key, value, "PX", text(ttl + SLACK_MS))
      else redis.call("DEL", c.key) end
    end
  end
end

-- For how long the key is still blocked; -1 is forever.
local function blocked_ms(index)
  local value = values[index]
  if not value then return 0 end
  local finish, length = string.match(value, "^(%d+):(%d+)$")
  if not finish then return -1 end
  -- No longer than it was meant to last, also after the clock stepped back.
  return math.max(0, math.min(tonumber(finish) - now, tonumber(length)))
end
