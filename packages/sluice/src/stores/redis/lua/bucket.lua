-- Token and leaky buckets, the twin of algorithms/bucket.ts. A counter has `debt` in ticks at the
-- instant `at`. It is kept as one integer where that tells everything, 13 digits of the instant of
-- being full again and 5 of the ticks of a unit: Redis holds an integer in a third of the memory.
-- Else as text: debt, instant and the numbers they were written under.

-- @include whole

local bucket = {}

local function debt_of(c, rate, full, now)
  local debt = c.debt - (now - c.at) * rate
  if now >= c.at then return math.max(0, debt) end
  return math.max(c.debt, math.min(full, debt))
end

local function letter_of(limit)
  if limit.kind == "leakyBucket" then return "l" end
  return "b"
end

local function fits_integer(limit)
  return limit.kind == "tokenBucket" and limit.ticksPerMs == 1 and limit.ticksPerUnit < 100000
end

-- What is in use carries over to other numbers, rounded up and clipped to full.
local function carry(c, debt, ticks_per_unit, limit, now)
  c.debt = math.min(math.ceil(debt / ticks_per_unit * limit.ticksPerUnit), limit.fullTicks)
  c.at = now
  c.dirty, c.carried = true, true
end

function bucket.read(c, value, limit, now)
  c.debt, c.at = 0, 0
  if not value then return end
  if limit.kind == "tokenBucket" and #value == 18 and not string.find(value, "%D") then
    local debt = math.max(0, tonumber(string.sub(value, 1, 13)) - now)
    local ticks_per_unit = tonumber(string.sub(value, 14))
    if ticks_per_unit ~= limit.ticksPerUnit or limit.ticksPerMs ~= 1 then
      return carry(c, debt, ticks_per_unit, limit, now)
    end
    c.debt, c.at = math.min(debt, limit.fullTicks), now
    -- Fewer units than before, or a clock that stepped back: the debt counts from now.
    if debt > c.debt then c.dirty = true end
    return
  end
  local debt, at, rate, unit, full =
    string.match(value, "^" .. letter_of(limit) .. "(%d+):(%d+):(%d+):(%d+):(%d+)$")
  if not debt then return end
  rate, unit, full = tonumber(rate), tonumber(unit), tonumber(full)
  c.debt, c.at = tonumber(debt), tonumber(at)
  if rate ~= limit.ticksPerMs or unit ~= limit.ticksPerUnit or full ~= limit.fullTicks then
    return carry(c, debt_of(c, rate, full, now), unit, limit, now)
  end
  if now < c.at then c.debt, c.at, c.dirty = debt_of(c, rate, full, now), now, true end
end

function bucket.write(c, limit, now)
  local debt = debt_of(c, limit.ticksPerMs, limit.fullTicks, now)
  local ttl = math.ceil(debt / limit.ticksPerMs)
  if fits_integer(limit) and c.debt <= limit.fullTicks then
    return string.format("%013.0f%05d", c.at + c.debt, limit.ticksPerUnit), ttl
  end
  return letter_of(limit) .. table.concat({
    text(c.debt), text(c.at), text(limit.ticksPerMs), text(limit.ticksPerUnit), text(limit.fullTicks),
  }, ":"), ttl
end

function bucket.weigh(c, limit, cost, now)
  local full, rate, unit = limit.fullTicks, limit.ticksPerMs, limit.ticksPerUnit
  local debt = debt_of(c, rate, full, now)
  local after = debt + cost * unit
  if after <= full then
    return true, math.floor((full - after) / unit), 0, math.ceil(after / rate), debt, 0
  end
  local retry = -1
  if cost <= limit.limit then retry = math.ceil((after - full) / rate) end
  return false, math.max(0, math.floor((full - debt) / unit)), retry, math.ceil(debt / rate), debt, 0
end

function bucket.take(c, limit, cost, now, before)
  c.debt, c.at, c.dirty = before + cost * limit.ticksPerUnit, now, true
end

function bucket.force(c, limit, cost, now)
  local debt = debt_of(c, limit.ticksPerMs, limit.fullTicks, now) + cost * limit.ticksPerUnit
  c.debt, c.at, c.dirty = math.min(debt, limit.debtTicksMax), now, true
end

function bucket.give_back(c, limit, receipt, kept, now, stands)
  local debt = debt_of(c, limit.ticksPerMs, limit.fullTicks, now)
  if limit.delays then
    -- The shaper gives back only its last slot: who queued behind has been told when to leave.
    local after = receipt.before + receipt.cost * limit.ticksPerUnit - receipt.lowered
    if c.debt ~= after - (c.at - receipt.at) * limit.ticksPerMs then return end
  end
  local back = math.min((receipt.cost - kept) * limit.ticksPerUnit, stands)
  c.debt, c.at, c.dirty = math.max(0, debt - back), now, true
end

function bucket.grant(c, limit, cost, now)
  local debt = debt_of(c, limit.ticksPerMs, limit.fullTicks, now) - cost * limit.ticksPerUnit
  c.debt, c.at, c.dirty = math.max(0, debt), now, true
end

function bucket.in_use(c, limit, _, now)
  return debt_of(c, limit.ticksPerMs, limit.fullTicks, now)
end

function bucket.measure(limit)
  return limit.ticksPerUnit, limit.ticksPerMs
end
