-- Token and leaky buckets, the twin of algorithms/bucket.ts. A counter has `debt` in ticks at the
-- instant `at`. It is kept as one integer where that says everything: the instant of being full
-- again and the ticks of a unit, where a tick is a millisecond. Else as doubles: debt, instant and
-- the numbers they were written under.

-- @include whole

local bucket = {}

local DOUBLINGS_MAX = 17

-- The most that a debt may become when the clock steps back: a full bucket's, doubled until it holds the debt.
local function debt_after_step(debt, full, most)
  local doublings = 0
  while doublings < DOUBLINGS_MAX and debt > full * 2 ^ doublings do doublings = doublings + 1 end
  if doublings == DOUBLINGS_MAX then return most end
  return min(full * 2 ^ doublings, most)
end

local function debt_under(c, rate, full, most, now)
  local debt = c.debt
  if now == c.at or debt == 0 then return debt end
  local left = debt - (now - c.at) * rate
  if now > c.at then return left > 0 and left or 0 end
  return min(left, debt_after_step(debt, full, most))
end

local function debt_of(c, limit, now)
  return debt_under(c, limit.ticksPerMs, limit.fullTicks, limit.debtTicksMax, now)
end

local function letter_of(limit)
  if limit.kind == "leakyBucket" then return "l" end
  return "b"
end

-- What is in use carries over to other numbers, rounded up and clipped to full.
local function carry(c, debt, ticks_per_unit, limit, now)
  c.debt = ceil(debt / ticks_per_unit * limit.ticksPerUnit)
  if not c.keeps_all then c.debt = min(c.debt, limit.fullTicks) end
  c.at = now
  c.dirty, c.carried = true, true
end

function bucket.read(c, value, limit, now)
  c.debt, c.at = 0, 0
  if not value then return end
  local packed = tonumber(value)
  if packed then
    if packed < 0 or limit.kind ~= "tokenBucket" then return end
    local full_at, unit = unpack_value(value, packed)
    local debt = full_at > now and full_at - now or 0
    if unit ~= limit.ticksPerUnit or limit.ticksPerMs ~= 1 then
      return carry(c, debt, unit, limit, now)
    end
    c.debt, c.at = debt, now
    if debt > limit.fullTicks then
      -- Fewer units than before, or a clock that stepped back: the debt counts from now.
      c.debt, c.behind = limit.fullTicks, true
    end
    return
  end
  if not is(value, letter_of(limit), FIVE_LENGTH) then return end
  local _, debt, at, rate, unit, full = struct.unpack(FIVE, value)
  c.debt, c.at = debt, at
  if rate ~= limit.ticksPerMs or unit ~= limit.ticksPerUnit or full ~= limit.fullTicks then
    return carry(c, debt_under(c, rate, full, limit.debtTicksMax, now), unit, limit, now)
  end
  if now < c.at then c.debt, c.at, c.behind = debt_of(c, limit, now), now, true end
end

function bucket.write(c, limit, now)
  local rate = limit.ticksPerMs
  local ttl = ceil(debt_of(c, limit, now) / rate)
  if rate == 1 and c.debt <= limit.fullTicks and limit.kind == "tokenBucket" then
    local full_at = c.at + c.debt
    local packed = pack(full_at, limit.ticksPerUnit)
    if packed then return packed, ttl > 0 and kept_until(full_at) - now or 0 end
  end
  local unit, full = limit.ticksPerUnit, limit.fullTicks
  return struct.pack(FIVE, letter_of(limit), c.debt, c.at, rate, unit, full), ttl
end

function bucket.weigh(c, limit, cost, now)
  local full, rate, unit = limit.fullTicks, limit.ticksPerMs, limit.ticksPerUnit
  local debt = debt_of(c, limit, now)
  local after = debt + cost * unit
  if after <= full then return true, floor((full - after) / unit), 0, ceil(after / rate), debt, 0 end
  local retry = cost <= limit.limit and ceil((after - full) / rate) or -1
  return false, max(0, floor((full - debt) / unit)), retry, ceil(debt / rate), debt, 0
end

function bucket.take(c, limit, cost, now, before)
  c.debt, c.at, c.dirty = before + cost * limit.ticksPerUnit, now, true
end
