-- Counters of which a single value is kept, and how they come out of the call and back into it.

-- @include call
-- @include block-mark
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
  local value
  value, c.block_mark, c.block_ms = unmark(values[place], now)
  algorithm.read(c, value, limit, now)
end

-- Keeps what became of a counter: later charges of this call see it, the end writes it.
local function save(c, limit)
  if not c.dirty then return end
  local algorithm = limit.algorithm
  if algorithm.flush then return algorithm.flush(c, limit, now) end
  local value, ttl = algorithm.write(c, limit, now)
  if c.block_mark then
    if type(value) == "number" then value = text(value) end
    value = c.block_mark(now + ttl) .. (ttl > 0 and value or "")
    ttl = c.block_ms < 0 and MARK_MS_MAX or max(ttl, c.block_ms)
  end
  -- What is not kept is not there, for those that come behind it in this call either.
  values[c.place], ttls[c.place] = ttl > 0 and value, ttl
end

-- For how long the key is still blocked, by the limiter's first value; -1 is forever.
local function blocked_ms(place)
  local _, _, left = unmark(values[place], now)
  return left
end
