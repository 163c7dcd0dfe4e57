-- Decides in one step what nearly every charge is: admitted, by a counter that was written under the same limit
-- and in the format of its algorithm's file. Each function takes the value of the counter and returns what remains,
-- when all of it is back, the new value, and either its TTL or by how much the stored integer changes. It returns
-- nothing if the charge has to go the long way. A script runs from its first line on every call, so this comes
-- before everything that only the long way needs.

-- @include whole

local quick = {}
-- The TTL of a value that is not an integer and whose TTL stays as it is.
local KEEP_TTL = -1

function quick.tokenBucket(value, limit, cost, now)
  local full, unit, debt, before, full_at = limit.fullTicks, limit.ticksPerUnit, 0, nil, 0
  if limit.ticksPerMs ~= 1 then return end
  if value then
    before = tonumber(value)
    if not before or before < 0 then return end
    local packed_unit
    full_at, packed_unit = unpack_value(value, before)
    debt = full_at > now and full_at - now or 0
    if packed_unit ~= unit or debt > full then return end
  end
  local after = debt + cost * unit
  if after > full then return end
  local packed, finish = pack(now + after, unit), kept_until(now + after)
  if not packed then return end
  local remaining = floor((full - after) / unit)
  if before and finish == kept_until(full_at) and type(packed) == "number" then
    return remaining, after, packed, nil, packed - before
  end
  return remaining, after, packed, finish - now
end

function quick.fixedWindow(value, limit, cost, now)
  local first, wait, used = limit.first, limit.windowMs, 0
  if not first then wait = wait - now % wait end
  if value then
    local packed = tonumber(value)
    if not packed or packed >= 0 then return end
    local finish
    finish, used = unpack_value(value, -packed)
    if finish <= now then used = 0
    elseif first and finish < now + wait then wait = finish - now
    elseif finish ~= now + wait then return end
  end
  local after = used + cost
  if after > limit.limit then return end
  local packed = pack(now + wait, after)
  if type(packed) ~= "number" then return end
  -- Within a window the key stays until its end: the count is all that changes.
  if used > 0 then return limit.limit - after, wait, -packed, nil, -cost end
  return limit.limit - after, wait, -packed, wait
end

function quick.slidingWindowCounter(value, limit, cost, now)
  local width, most = limit.windowMs, limit.limit
  local left = width - now % width
  local finish, current, before = now + left, 0, 0
  if value then
    if not is(value, "s", FIVE_LENGTH) then return end
    local _, counted, previous, ended, under_ms, under = struct.unpack(FIVE, value)
    if under_ms ~= width or under ~= most or ended > finish then return end
    if ended == finish then current, before = counted, previous
    elseif ended == finish - width then before = counted end
  end
  local after = current + cost
  local remaining = most - after
  if before > 0 then remaining = remaining - multiply_divide_up(before, left, width) end
  if remaining < 0 then return end
  local kept = struct.pack(FIVE, "s", after, before, finish, width, most)
  return remaining, left + width, kept, current > 0 and KEEP_TTL or left + width
end
