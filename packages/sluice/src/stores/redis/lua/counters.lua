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

-- Reads the counter at a place into the table `c`, converted to the numbers of this limit. `carried`: it was
-- written under other numbers. `behind`: it was written by a clock that is ahead of now, and reads as of now.
local function load(c, place, limit, shift)
  local algorithm = kinds[limit.kind]
  limit.algorithm = algorithm
  c.place, c.key, c.shift, c.dirty, c.carried, c.behind = place, KEYS[place], shift, false, false, false
  local value
  value, c.block_mark, c.block_ms = unmark(values[place], now)
  algorithm.read(c, value, limit, now)
end

-- How long a marked value is kept: at least as long as the block, and 1 ms if that has ended.
local function kept_ms_of(block_ms, ttl)
  return block_ms < 0 and MARK_MS_MAX or max(ttl, block_ms, 1)
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
    ttl = kept_ms_of(c.block_ms, ttl)
  end
  -- What is not kept is not there, for those that come behind it in this call either.
  values[c.place], ttls[c.place] = ttl > 0 and value, ttl
end

-- Keeps a counter as it reads now, even if nothing was taken from it: when the clock has stepped back, the same
-- use must count from now, or the key would stay locked out.
local function save_standing(c, limit)
  c.dirty = c.dirty or c.behind
  save(c, limit)
end

-- How long the key is still blocked, by the limiter's first value; -1 is forever. A block that was seen to have
-- ended does not come back when the clock steps back. Call this before the counter is loaded.
local function blocked_ms(place)
  local value = values[place]
  if not is_marked(value) then return 0 end
  local rest, _, left, kept_until_ms = unmark(value, now)
  if left == 0 then values[place], ttls[place] = rest, rest and max(1, kept_until_ms - now) or 0 end
  return left
end
