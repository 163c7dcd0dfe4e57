-- The requests of a check, one after the other, and those whose charges all pass in one step.

-- @include call
-- @include quick

local FIELDS = 4
local numbers = cjson.decode(ARGV[4])
local reply = { now }
local first, last = 1, 0

-- Goes on to the next request: from `first` to `last`. False behind the last one.
local function next_request()
  first = last + 1
  if first > #numbers then return false end
  last = first + FIELDS - 1
  while numbers[last - 1] > 0 do last = last + FIELDS end
  return true
end

local function limit_at(at)
  local which = numbers[at + 2]
  return limits[which < 0 and -which or which]
end

-- What becomes of the charge at a place in `numbers` if it passes in one step.
local function try_charge(at)
  local limit, cost = limit_at(at), numbers[at + 3]
  local charge = quick[limit.kind]
  if not charge or cost == 0 then return end
  local place, first_value = numbers[at], numbers[at + 1]
  -- A value with the mark of a block is nothing that a quick charge can read.
  if place ~= first_value and is_text(values[first_value], "x") then return end
  return charge(values[place], limit, cost, now)
end

local function keep(place, value, ttl, step)
  values[place] = value
  if step then steps[place] = (steps[place] or 0) + step
  elseif ttl > 0 or not ttls[place] then ttls[place] = ttl end
end

-- Decides a request whose charges all pass in one step; false if one has to go the long way.
local tried = {}
local function is_quick()
  local n, count = #reply, 0
  if first + FIELDS > last then
    local remaining, reset, value, ttl, step = try_charge(first)
    if not value then return false end
    keep(numbers[first], value, ttl, step)
    reply[n + 1], reply[n + 2], reply[n + 3] = remaining, 0, reset
    return true
  end
  for at = first, last, FIELDS do
    count = count + 1
    local t = tried[count]
    if not t then t = {} tried[count] = t end
    t[1], t[2], t[3], t[4], t[5] = try_charge(at)
    if not t[3] then return false end
  end
  for i = 1, count do
    local t = tried[i]
    keep(numbers[first + (i - 1) * FIELDS], t[3], t[4], t[5])
    reply[n + 1], reply[n + 2], reply[n + 3] = t[1], 0, t[2]
    n = n + 3
  end
  return true
end
