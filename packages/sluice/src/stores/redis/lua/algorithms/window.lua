-- Fixed windows and calendar quotas, the twin of algorithms/fixed-window.ts. A counter has what was
-- `used` in the window that ends at `finish`: a window whose end lies ahead counts, whatever numbers
-- or clock it was written under. Kept as one negative integer where use is small and within the
-- limit, else as doubles, with the limit that it was written under.

-- @include whole

local window = {}

local function negative(packed)
  return type(packed) == "number" and -packed or "-" .. packed
end

-- When the window of now ends, if nothing is in use. A quota's ends come with it: Lua knows no calendar.
local function finish_of(c, limit, now)
  if limit.first then return now + limit.windowMs end
  if limit.ends then
    for _, finish in ipairs(limit.ends) do
      if now < finish then return finish end
    end
  end
  return (floor((now + c.shift) / limit.windowMs) + 1) * limit.windowMs - c.shift
end

function window.read(c, value, limit, now)
  c.used, c.finish = 0, finish_of(c, limit, now)
  if not value then return end
  local finish, used, under
  local packed = tonumber(value)
  if packed then
    if packed > 0 or limit.ends then return end
    finish, used = unpack_value(value, -packed)
    under = max(used, limit.limit)
  else
    local _
    if not is(value, limit.ends and "q" or "w", THREE_LENGTH) then return end
    _, used, finish, under = struct.unpack(THREE, value)
  end
  if finish <= now then return end
  c.used = used
  -- Beyond its own limit use is debt and stays; beyond another's it is clipped.
  -- Only seen so: a limiter with a larger limit may go on counting, as while servers are replaced.
  if under ~= limit.limit and used > limit.limit and not c.keeps_all then c.used = limit.limit end
  if limit.first and finish < c.finish then c.finish = finish end
  if finish == c.finish then return end
  -- One that ends later may be a window from the future, which counts as this one: a clock that steps
  -- back locks no key out. Any other was written under other numbers.
  c.behind = finish > c.finish and (limit.ends or limit.first or (finish - c.finish) % limit.windowMs == 0)
  c.carried = not c.behind
  c.dirty = c.carried
end

function window.write(c, limit, now)
  if c.used == 0 then return false, 0 end
  local ttl = c.finish - now
  if not limit.ends and c.used <= limit.limit then
    local packed = pack(c.finish, c.used)
    if packed then return negative(packed), ttl end
  end
  local letter = limit.ends and "q" or "w"
  return struct.pack(THREE, letter, c.used, c.finish, limit.limit), ttl
end

function window.weigh(c, limit, cost, now)
  local after, wait = c.used + cost, c.finish - now
  if after <= limit.limit then
    return true, limit.limit - after, 0, after > 0 and wait or 0, c.used, c.finish
  end
  local retry = cost > limit.limit and -1 or wait
  return false, max(0, limit.limit - c.used), retry, c.used > 0 and wait or 0, c.used, c.finish
end

function window.take(c, _, cost)
  c.used, c.dirty = c.used + cost, true
end
