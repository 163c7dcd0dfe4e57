-- Decides in one step what nearly every charge is: admitted, by a counter that was written under the same limit
-- and in the format of its algorithm's file. Each function takes the value of the counter and returns what remains,
-- when all of it is back, the new value, and either its TTL or by how much the stored integer changes. It returns
-- nothing if the charge has to go the long way. A script runs from its first line on every call, so this comes
-- before everything that only the long way needs.

-- @include whole

local quick = {}
-- The TTL of a value that is not an integer and whose TTL stays as it is.
local KEEP_TTL = -1
-- A call of a function costs more than the arithmetic in it, so what nearly every charge runs is written out: pack,
-- unpack_value and kept_until of whole.
local tonumber, type, struct_pack, struct_unpack = tonumber, type, struct.pack, struct.unpack

function quick.tokenBucket(value, limit, cost, now)
  local full, unit, debt, before, full_at = limit.fullTicks, limit.ticksPerUnit, 0, nil, 0
  if limit.ticksPerMs ~= 1 then return end
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
  local after = debt + cost * unit
  local left = full - after
  if left < 0 then return end
  local remaining, new_full_at = (left - left % unit) / unit, now + after
  local finish = new_full_at - new_full_at % KEPT_STEP_MS + KEPT_STEP_MS
  local ms = new_full_at - PACK_EPOCH_MS
  if unit < PACK_SPAN and ms >= 0 and ms < PACK_MS_MAX then
    local packed = ms * PACK_SPAN + unit
    if before and full_at - full_at % KEPT_STEP_MS + KEPT_STEP_MS == finish then
      return remaining, after, packed, nil, packed - before
    end
    return remaining, after, packed, finish - now
  end
  local packed = pack(new_full_at, unit)
  if not packed then return end
  return remaining, after, packed, finish - now
end

function quick.fixedWindow(value, limit, cost, now)
  local first, wait, used = limit.first, limit.windowMs, 0
  if not first then wait = wait - now % wait end
  if value then
    local packed = tonumber(value)
    if not packed or packed >= 0 then return end
    packed = -packed
    local finish
    if packed <= MAX_SAFE then
      used = packed % PACK_SPAN
      finish = (packed - used) / PACK_SPAN + PACK_EPOCH_MS
    else
      finish, used = unpack_value(value, packed)
    end
    if finish <= now then used = 0
    elseif first and finish < now + wait then wait = finish - now
    elseif finish ~= now + wait then return end
  end
  local after, most, ms = used + cost, limit.limit, now + wait - PACK_EPOCH_MS
  if after > most or after >= PACK_SPAN or ms < 0 or ms >= PACK_MS_MAX then return end
  local kept = -(ms * PACK_SPAN + after)
  -- Within a window the key stays until its end: the count is all that changes.
  if used > 0 then return most - after, wait, kept, nil, -cost end
  return most - after, wait, kept, wait
end

function quick.slidingWindowCounter(value, limit, cost, now)
  local width, most = limit.windowMs, limit.limit
  local left = width - now % width
  local finish, current, before = now + left, 0, 0
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
