-- Decides in one step what nearly every charge is: admitted, by a counter that was written under the same limit
-- and in the format of its algorithm's file. Each function here takes a limit and a cost and returns the function
-- that decides such charges in this call, so that what depends on limit, cost and time alone is computed once; it
-- returns nothing if such charges always have to go the long way. The function returned takes the value of the
-- counter and returns the answer, the new value, and either its TTL or by how much the stored integer changes. It
-- returns nothing if the charge has to go the long way. The answer is one number, from which the caller derives the
-- rest of the verdict: of a bucket its debt, of a window what is used (where each key has windows of its own, with
-- when it ends), of a sliding window counter what remains. A script runs from its first line on every call, so this
-- comes before everything that only the long way needs.

-- @include now
-- @include whole

local quick = {}
-- The TTL of a value that is not an integer, if the value keeps both its TTL and its length.
local KEEP_TTL = -1
-- Of the five doubles of a sliding window counter: how the counts are packed, and how and where the others are.
local COUNTS, ENDING, ENDING_AT, PREVIOUS_AT = "<c1dd", "<ddd", 18, 10
-- A call of a function costs more than the arithmetic in it, so what nearly every charge runs is written out: pack,
-- unpack_value and kept_until of whole.
local tonumber, type, struct_pack, struct_unpack = tonumber, type, struct.pack, struct.unpack
local sub = string.sub

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
    if after > full then return end
    local new_full_at = now + after
    local step_at = new_full_at - new_full_at % KEPT_STEP_MS
    if is_double then
      local packed = (new_full_at - PACK_EPOCH_MS) * PACK_SPAN + unit
      if before and full_at - full_at % KEPT_STEP_MS == step_at then
        return after, packed, nil, packed - before
      end
      return after, packed, step_at + KEPT_STEP_MS - now
    end
    local packed = pack(new_full_at, unit)
    if not packed then return end
    return after, packed, step_at + KEPT_STEP_MS - now
  end
end

function quick.fixedWindow(limit, cost)
  local first, width = limit.first, limit.windowMs
  local longest = first and width or width - now % width
  local ms = now + longest - PACK_EPOCH_MS
  if ms < 0 or ms >= PACK_MS_MAX then return end
  local longest_base, most_packed = ms * PACK_SPAN, min(limit.limit, PACK_SPAN - 1)
  -- What values say is used in the window that ends `longest` from now: many keys have the same one, and a look-up
  -- costs a tenth of reading a number.
  local used_by_value = {}
  return function(value)
    local wait, base, used = longest, longest_base, 0
    if value then
      used = used_by_value[value]
      if not used then
        local packed = tonumber(value)
        if not packed or packed >= 0 then return end
        used = -packed - base
        if used >= 0 and used < PACK_SPAN then
          used_by_value[value] = used
        else
          local finish
          finish, used = unpack_value(value, -packed)
          if finish <= now then used = 0
          elseif first and finish < now + longest then
            wait, base = finish - now, (finish - PACK_EPOCH_MS) * PACK_SPAN
          else return end
        end
      end
    end
    local after = used + cost
    if after > most_packed then return end
    local answer = first and wait * PACK_SPAN + after or after
    -- Within a window the key stays until its end: the count is all that changes.
    if used > 0 then return answer, -(base + after), nil, -cost end
    return answer, -(base + after), wait
  end
end

function quick.slidingWindowCounter(limit, cost)
  local width, most = limit.windowMs, limit.limit
  local left = width - now % width
  local finish = now + left
  -- What values end with that were written in the current window and under these numbers, and counts as they are
  -- written: packing one takes longer than looking it up.
  local ending, packed_counts = struct_pack(ENDING, finish, width, most), {}
  return function(value)
    local current, before, is_current = 0, 0, false
    if value then
      if type(value) ~= "string" or #value ~= FIVE_LENGTH then return end
      local letter
      is_current = sub(value, ENDING_AT) == ending
      if is_current then
        letter, current, before = struct_unpack(COUNTS, value)
        if letter ~= "s" then return end
      else
        local counted, previous, ended, under_ms, under
        letter, counted, previous, ended, under_ms, under = struct_unpack(FIVE, value)
        if letter ~= "s" or under_ms ~= width or under ~= most or ended > finish then return end
        if ended == finish - width then before = counted end
      end
    end
    local after = current + cost
    local remaining = most - after
    if before > 0 then remaining = remaining - multiply_divide_up(before, left, width) end
    if remaining < 0 then return end
    if not is_current then
      return remaining, struct_pack(FIVE, "s", after, before, finish, width, most), left + width
    end
    local packed = packed_counts[after]
    if not packed then packed = struct_pack("<d", after) packed_counts[after] = packed end
    return remaining, "s" .. packed .. sub(value, PREVIOUS_AT), current > 0 and KEEP_TTL or left + width
  end
end
