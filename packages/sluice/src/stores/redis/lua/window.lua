-- Fixed windows and calendar quotas, the twin of algorithms/fixed-window.ts. A counter has what was
-- `used` in the window that ends at `finish`: a window whose end lies ahead counts, whatever numbers
-- or clock it was written under. Kept as one negative integer where use is within the limit (13
-- digits of the end, 5 of the use), else as text with the limit that it was written under.

-- @include whole

local window = {}

-- When the window of now ends. A quota's ends come with it: Lua knows no calendar.
local function finish_of(c, limit, now)
  if limit.ends then
    for _, finish in ipairs(limit.ends) do
      if now < finish then return finish end
    end
  end
  return (math.floor((now + c.shift) / limit.windowMs) + 1) * limit.windowMs - c.shift
end

function window.read(c, value, limit, now)
  c.used, c.finish = 0, finish_of(c, limit, now)
  if not value then return end
  local finish, used, under
  if limit.kind == "fixedWindow" and #value == 19 and string.find(value, "^%-%d+$") then
    finish, used = tonumber(string.sub(value, 2, 14)), tonumber(string.sub(value, 15))
    under = math.max(used, limit.limit)
  else
    local letter = limit.ends and "q" or "w"
    used, finish, under = string.match(value, "^" .. letter .. "(%d+):(%d+):(%d+)$")
    if not used then return end
    used, finish, under = tonumber(used), tonumber(finish), tonumber(under)
  end
  if finish <= now then return end
  c.used = used
  -- Beyond its own limit use is debt and stays; beyond another's it is clipped.
  if under ~= limit.limit and used > limit.limit then c.used = limit.limit end
  c.dirty = c.used ~= used or finish ~= c.finish
end

function window.write(c, limit, now)
  if c.used == 0 then return "", 0 end
  local ttl = c.finish - now
  if limit.kind == "fixedWindow" and c.used <= limit.limit and c.used < 100000 then
    return string.format("-%013.0f%05d", c.finish, c.used), ttl
  end
  local letter = limit.ends and "q" or "w"
  return letter .. text(c.used) .. ":" .. text(c.finish) .. ":" .. text(limit.limit), ttl
end

function window.weigh(c, limit, cost, now)
  local after, wait = c.used + cost, c.finish - now
  if after <= limit.limit then
    return true, limit.limit - after, 0, after > 0 and wait or 0, c.used, c.finish
  end
  local retry = cost > limit.limit and -1 or wait
  return false, math.max(0, limit.limit - c.used), retry, c.used > 0 and wait or 0, c.used, c.finish
end

function window.take(c, _, cost)
  c.used, c.dirty = c.used + cost, true
end

function window.force(c, limit, cost)
  c.used, c.dirty = math.min(c.used + cost, limit.usedMax), true
end

function window.give_back(c, _, receipt, kept, _, stands)
  -- What was charged to a window that has ended is gone with it.
  if receipt.mark ~= c.finish then return end
  local back = math.min(receipt.cost - kept, stands)
  c.used, c.dirty = math.max(0, c.used - back), true
end

function window.grant(c, _, cost)
  c.used, c.dirty = math.max(0, c.used - cost), true
end

function window.in_use(c, _, mark)
  if mark == c.finish then return c.used end
  return 0
end

function window.measure()
  return 1, 0
end
