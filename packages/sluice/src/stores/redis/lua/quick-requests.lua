-- The requests of a check, one after the other, and those whose charges all pass in one step.

-- @include call
-- @include quick

local FIELDS = 3
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
  local which = numbers[at + 1]
  return limits[which < 0 and -which or which]
end

-- Does something with each charge of the request; false if one does not go on.
local function each_charge(act)
  for at = first, last, FIELDS do
    local place, limit, cost = numbers[at], limit_at(at), numbers[at + 2]
    local set = limit.set
    if not set then
      if not act(place, limit, cost) then return false end
    else
      for i = 1, #set, 2 do
        if not act(place + set[i] * PART_STEP, limits[set[i + 1]], cost) then return false end
      end
    end
  end
  return true
end

local function keep(place, value, ttl, step)
  values[place] = value
  if step then steps[place] = (steps[place] or 0) + step
  elseif ttl > 0 or not ttls[place] then ttls[place] = ttl end
end

-- Decides a request of one charge. A value with the mark of a block, or with several parts, is nothing
-- that a quick charge can read.
local function is_quick_one()
  local place, limit, cost = numbers[first], limit_at(first), numbers[first + 2]
  local charge = quick[limit.kind]
  if not charge or cost == 0 or place > PART_STEP then return false end
  local remaining, reset, value, ttl, step = charge(values[place], limit, cost, now)
  if not value then return false end
  keep(place, value, ttl, step)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = remaining, 0, reset
  return true
end

-- Decides a request of one set of limits, whose values are parts of one key.
local kept = {}

local function is_quick_set(key, set, cost)
  local list = lists[key] or list_of(key)
  if not list or cost == 0 or marks[key] then return false end
  local n, needed_ms = #reply, changes[key] or 0
  for i = 1, #set, 2 do
    local limit = limits[set[i + 1]]
    local charge = quick[limit.kind]
    local remaining, reset, value, ttl
    if charge then remaining, reset, value, ttl = charge(list[set[i] + 2], limit, cost, now) end
    if not value then
      for behind = #reply, n + 1, -1 do reply[behind] = nil end
      return false
    end
    kept[i] = value
    if ttl and ttl > 0 and now + ttl > needed_ms then needed_ms = now + ttl end
    local at = n + i * 1.5 - 0.5
    reply[at], reply[at + 1], reply[at + 2] = remaining, 0, reset
  end
  for i = 1, #set, 2 do
    local at = set[i] + 2
    for missing = #list + 1, at do list[missing] = false end
    list[at] = kept[i]
  end
  changes[key] = needed_ms
  return true
end

-- What becomes of the charges of a request, one behind the other: the place, what remains, when all of it
-- is back, what to keep, for how long, by how much an integer changes.
local TRIED = 6
local tried = {}

local count = 0

local function try(place, limit, cost)
  local charge = quick[limit.kind]
  local key = place % PART_STEP
  local list, value = lists[key], values[key]
  if not list and (place ~= key or is_packed(value)) then list = list_of(key) end
  if list then value = list[(place - key) / PART_STEP + 2]
  elseif place ~= key then return false end
  if not charge or cost == 0 or marks[key] then return false end
  local n = count
  tried[n + 1] = place
  tried[n + 2], tried[n + 3], tried[n + 4], tried[n + 5], tried[n + 6] =
    charge(value, limit, cost, now)
  count = n + TRIED
  return tried[n + 4]
end

-- Keeps a part of a key that has a list.
local function keep_part(list, key, place, value, ttl)
  local at = (place - key) / PART_STEP + 2
  for i = #list + 1, at do list[i] = false end
  list[at] = value
  local needed_ms = ttl and ttl > 0 and now + ttl or 0
  if needed_ms > (changes[key] or -1) then changes[key] = needed_ms end
end

-- Decides a request whose charges all pass in one step; false if one has to go the long way.
local function is_quick()
  if first + FIELDS > last then
    local set = limit_at(first).set
    if not set then return is_quick_one() end
    return is_quick_set(numbers[first], set, numbers[first + 2])
  end
  count = 0
  if not each_charge(try) then return false end
  local n = #reply
  for i = 1, count, TRIED do
    local place = tried[i]
    local key = place % PART_STEP
    local list = lists[key]
    if list then keep_part(list, key, place, tried[i + 3], tried[i + 4])
    else keep(place, tried[i + 3], tried[i + 4], tried[i + 5]) end
    reply[n + 1], reply[n + 2], reply[n + 3] = tried[i + 1], 0, tried[i + 2]
    n = n + 3
  end
  return true
end
