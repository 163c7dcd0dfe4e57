-- Decides in one step what nearly every charge is: admitted, by a counter that was written under the same limit
-- and in the format of its algorithm's file. Each function here takes a limit and a cost and returns the function
-- that decides such charges in this call, so that what depends on limit, cost and time alone is computed once; it
-- returns nothing if such charges always have to go the long way. The function returned takes the value of the
-- counter and returns what remains, when all of it is back, the new value, and either its TTL or by how much the
-- stored integer changes. It returns nothing if the charge has to go the long way. A script runs from its first
-- line on every call, so this comes before everything that only the long way needs.

-- @include now
-- @include whole

local quick = {}
-- The TTL of a value that is not an integer, if the value keeps both its TTL and its length.
local KEEP_TTL = -1
-- A call of a function costs more than the arithmetic in it, so what nearly every charge runs is written out: pack,
-- unpack_value and kept_until of whole.
local tonumber, type, struct_pack, struct_unpack = tonumber, type, struct.pack, struct.unpack

function quick.tokenBucket(limit, cost)
  local full, unit = limit.fullTicks, limit.ticksPerUnit
  if limit.ticksPerMs ~= 1 then return end
  local charge = cost * unit
  local is_double = unit < PACK_SPAN and now >= PACK_EPOCH_MS and now + full < PACK_EPOCH_MS + PACK_MS_MAX
  return function(value)
    local debt, before, full_at = 0, nil, 0
    if value then
      before = tonumber(value)
      if not before or before < 0 then return end
      local packed_unit
      if before <= MAX_SAFE then
        packed_unit = before % PACK_SPAN
        full_at = (before - packed_unit) / PACK_SPAN + PACK_EPOCH_MS
      else
        full_at, packed_unit = unpack_value(value, before)
      end
      if full_at > now then debt = full_at - now end
      if packed_unit ~= unit or debt > full then return end
    end
    local after = debt + charge
    local left = full - after
    if left < 0 then return end
    local remaining, new_full_at = (left - left % unit) / unit, now + after
    local step_at = new_full_at - new_full_at % KEPT_STEP_MS
    if is_double then
      local packed = (new_full_at - PACK_EPOCH_MS) * PACK_SPAN + unit
      if before and full_at - full_at % KEPT_STEP_MS == step_at then
        return remaining, after, packed, nil, packed - before
      end
      return remaining, after, packed, step_at + KEPT_STEP_MS - now
    end
    local packed = pack(new_full_at, unit)
    if not packed then return end
    return remaining, after, packed, step_at + KEPT_STEP_MS - now
  end
end

function quick.fixedWindow(limit, cost)
  local first, width, most = limit.first, limit.windowMs, limit.limit
  local longest = first and width or width - now % width
  local ms = now + longest - PACK_EPOCH_MS
  if ms < 0 or ms >= PACK_MS_MAX then return end
  local longest_base, most_packed = ms * PACK_SPAN, min(most, PACK_SPAN - 1)
  return function(value)
    local wait, base, used = longest, longest_base, 0
    if value then
      local packed = tonumber(value)
      if not packed or packed >= 0 then return end
      used = -packed - base
      if used < 0 or used >= PACK_SPAN then
        -- Not the window that ends `longest` from now.
        local finish
        finish, used = unpack_value(value, -packed)
        if finish <= now then used = 0
        elseif first and finish < now + longest then
          wait, base = finish - now, (finish - PACK_EPOCH_MS) * PACK_SPAN
        else return end
      end
    end
    local after = used + cost
    if after > most_packed then return end
    -- Within a window the key stays until its end: the count is all that changes.
    if used > 0 then return most - after, wait, -(base + after), nil, -cost end
    return most - after, wait, -(base + after), wait
  end
end

function quick.slidingWindowCounter(limit, cost)
  local width, most = limit.windowMs, limit.limit
  local left = width - now % width
  local finish = now + left
  return function(value)
    local current, before = 0, 0
    if value then
      if type(value) ~= "string" or #value ~= FIVE_LENGTH then return end
      local letter, counted, previous, ended, under_ms, under = struct_unpack(FIVE, value)
      if letter ~= "s" or under_ms ~= width or under ~= most or ended > finish then return end
      if ended == finish then current, before = counted, previous
      elseif ended == finish - width then before = counted end
    end
    local after = current + cost
    local remaining = most - after
    if before > 0 then remaining = remaining - multiply_divide_up(before, left, width) end
    if remaining < 0 then return end
    local kept = struct_pack(FIVE, "s", after, before, finish, width, most)
    return remaining, left + width, kept, current > 0 and KEEP_TTL or left + width
  end
end
