-- The sliding window counter, the twin of algorithms/sliding-window-counter.ts. A counter has the
-- `current` count of the window that ends at `finish` and the `previous` one's. Kept as text with
-- the numbers it was written under.

-- @include whole

local sliding = {}

local function finish_at(limit, now)
  return (math.floor(now / limit.windowMs) + 1) * limit.windowMs
end

-- The same counts as they stand in the window of now.
local function slide(c, width, finish)
  if c.finish > finish then
    -- A window from the future counts as this one: a clock that stepped back locks nobody out.
    c.dirty = true
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
  local current, previous, ended, under_ms, under
  if value then
    current, previous, ended, under_ms, under =
      string.match(value, "^s(%d+):(%d+):(%d+):(%d+):(%d+)$")
  end
  if not current then return end
  c.current, c.previous, c.finish = tonumber(current), tonumber(previous), tonumber(ended)
  under_ms = tonumber(under_ms)
  if under_ms ~= width then
    -- Under another window there is no telling when the units were used: they count as just now.
    slide(c, under_ms, (math.floor(now / under_ms) + 1) * under_ms)
    c.current = math.min(weighted(c, under_ms, now) + c.current, limit.limit)
    c.previous, c.finish, c.dirty = 0, finish, true
    return
  end
  slide(c, width, finish)
  if tonumber(under) ~= limit.limit then
    c.current, c.previous = math.min(c.current, limit.limit), math.min(c.previous, limit.limit)
    c.dirty = true
  end
end

function sliding.write(c, limit, now)
  local width = limit.windowMs
  local ttl = 0
  if c.current > 0 then ttl = c.finish + width - now
  elseif c.previous > 0 then ttl = c.finish - now end
  return "s" .. table.concat({
    text(c.current), text(c.previous), text(c.finish), text(width), text(limit.limit),
  }, ":"), ttl
end

-- The most milliseconds of a window that may be left so that `count`, weighted, fits `room`.
local function longest_left(count, room, width)
  local guess = math.floor(width * (room / count))
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
  return allowed, math.max(0, limit.limit - before - current), retry, reset, c.current, c.finish
end

function sliding.take(c, _, cost)
  c.current, c.dirty = c.current + cost, true
end

function sliding.force(c, limit, cost)
  c.current, c.dirty = math.min(c.current + cost, limit.usedMax), true
end

function sliding.give_back(c, limit, receipt, kept, _, stands)
  local back = math.min(receipt.cost - kept, stands)
  if receipt.mark == c.finish then
    c.current, c.dirty = math.max(0, c.current - back), true
  elseif receipt.mark == c.finish - limit.windowMs then
    c.previous, c.dirty = math.max(0, c.previous - back), true
  end
end

function sliding.grant(c, _, cost)
  c.current, c.dirty = math.max(0, c.current - cost), true
end

function sliding.in_use(c, limit, mark)
  if mark == c.finish then return c.current end
  if mark == c.finish - limit.windowMs then return c.previous end
  return 0
end

function sliding.standing(c, limit, now)
  return weighted(c, limit.windowMs, now) + c.current
end

function sliding.measure()
  return 1, 0
end
