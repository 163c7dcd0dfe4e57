-- Counters of which a single value is kept, and how they come out of the call and back into it.

-- @include call
-- @include bucket
-- @include window
-- @include sliding

local kinds = {
  tokenBucket = bucket,
  leakyBucket = bucket,
  fixedWindow = window,
  quota = window,
  slidingWindowCounter = sliding,
}

-- Reads the counter at a place into the table `c`, brought to the numbers of this limit.
local function load(c, place, limit, shift)
  local algorithm = kinds[limit.kind]
  limit.algorithm = algorithm
  c.place, c.key, c.shift, c.dirty, c.carried = place, KEYS[place], shift, false, false
  algorithm.read(c, values[place], limit, now)
end

-- Keeps what became of a counter: later charges of this call see it, the end writes it.
local function save(c, limit)
  if not c.dirty then return end
  local algorithm = limit.algorithm
  if algorithm.flush then return algorithm.flush(c, limit, now) end
  local value, ttl = algorithm.write(c, limit, now)
  values[c.place], ttls[c.place] = value, ttl
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
