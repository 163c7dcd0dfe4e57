-- Counters that are single values: how they are read from the values of the call, and put back.

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

-- Reads the counter at a place into the table `c`, converted to the numbers of this limit. `carried`: it was
-- written under other numbers. `behind`: it was written by a clock that is ahead of now, and reads as of now.
local function load(c, place, limit, shift)
  local algorithm = kinds[limit.kind]
  limit.algorithm = algorithm
  c.place, c.key, c.shift, c.dirty, c.carried, c.behind = place, KEYS[place], shift, false, false, false
  algorithm.read(c, get(place), limit, now)
end

-- Keeps what became of a counter: later charges of this call see it, the end writes it.
local function save(c, limit)
  if not c.dirty then return end
  local algorithm = limit.algorithm
  if algorithm.flush then return algorithm.flush(c, limit, now) end
  local value, ttl = algorithm.write(c, limit, now)
  -- A value that is not kept is gone for later charges of this call too.
  set(c.place, ttl > 0 and value, ttl)
end

-- Keeps a counter as it reads now, even if nothing was taken from it: when the clock has stepped back, the same
-- use must count from now, or the key would stay locked out.
local function save_standing(c, limit)
  c.dirty = c.dirty or c.behind
  save(c, limit)
end

-- How long the key is still blocked, by the limiter's value; -1 is forever. A block that was seen to have
-- ended does not come back when the clock steps back.
local function blocked_ms(key)
  take_apart(key)
  if not marks[key] then return 0 end
  if lefts[key] == 0 then marks[key], changes[key] = nil, changes[key] or 0 end
  return lefts[key]
end
