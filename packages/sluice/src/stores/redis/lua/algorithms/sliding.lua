-- The sliding window counter, the twin of algorithms/sliding-window-counter.ts. A counter has the
-- `current` count of the window that ends at `finish` and the `previous` one's. Kept as doubles,
-- with the numbers it was written under.

-- @include whole

local sliding = {}

local function finish_at(limit, now)
  return (floor(now / limit.windowMs) + 1) * limit.windowMs
end

-- The same counts as they stand in the window of now.
local function slide(c, width, finish)
  if c.finish > finish then
    -- A window from the future counts as this one: a clock that stepped back locks no caller out.
    c.behind = true
  elseif c.finish == finish - width then
    c.previous, c.current = c.current, 0
  elseif c.finish < finish then
    c.previous, c.current = 0, 0
  end
  c.finish = finish
end

local function weighted(c, width, now)
  return multiply_divide_up(c.previous, width - now % width, width)
end

function sliding.read(c, value, limit, now)
  local width = limit.windowMs
  local finish = finish_at(limit, now)
  c.current, c.previous, c.finish = 0, 0, finish
  if not value or not is(value, "s", FIVE_LENGTH) then return end
  local _, current, previous, ended, under_ms, under = struct.unpack(FIVE, value)
  c.current, c.previous, c.finish = current, previous, ended
  if under_ms ~= width then
    -- Under another window it is unknown when the units were used: they count as just now.
    slide(c, under_ms, (floor(now / under_ms) + 1) * under_ms)
    c.current = min(weighted(c, under_ms, now) + c.current, limit.limit)
    c.previous, c.finish, c.dirty = 0, finish, true
    return
  end
  slide(c, width, finish)
  if under ~= limit.limit and not c.keeps_all then
    c.current, c.previous = min(c.current, limit.limit), min(c.previous, limit.limit)
    c.dirty = true
  end
end

function sliding.write(c, limit, now)
  local width = limit.windowMs
  local ttl = 0
  if c.current > 0 then ttl = c.finish + width - now
  elseif c.previous > 0 then ttl = c.finish - now end
  return struct.pack(FIVE, "s", c.current, c.previous, c.finish, width, limit.limit), ttl
end

-- The most milliseconds of a window that may be left so that `count`, weighted, fits `room`.
local function longest_left(count, room, width)
  local guess = floor(width * (room / count))
  if multiply_divide_up(count, guess, width) > room then return guess - 1 end
  if multiply_divide_up(count, guess + 1, width) > room then return guess end
  return guess + 1
end

local function wait_of(c, limit, cost, left)
  local width = limit.windowMs
  if cost > limit.limit then return -1 end
  local room = limit.limit - c.current - cost
  if room >= 0 then return left - longest_left(c.previous, room, width) end
  local room_next = limit.limit - cost
  if c.current <= room_next then return left end
  return left + width - longest_left(c.current, room_next, width)
end

function sliding.weigh(c, limit, cost, now)
  local width = limit.windowMs
  local left = width - now % width
  local before = weighted(c, width, now)
  local allowed = before + c.current + cost <= limit.limit
  local current = allowed and c.current + cost or c.current
  local reset = 0
  if current > 0 then reset = left + width elseif c.previous > 0 then reset = left end
  local retry = allowed and 0 or wait_of(c, limit, cost, left)
  return allowed, max(0, limit.limit - before - current), retry, reset, c.current, c.finish
end

function sliding.take(c, _, cost)
  c.current, c.dirty = c.current + cost, true
end
