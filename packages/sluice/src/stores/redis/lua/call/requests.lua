-- Reads the requests of a check, one after the other. Most have the same limits and costs as the one before, for
-- another identity: such a request is a single number.
-- ARGV[4]: a JSON array of numbers. For such a request: the index of its first key in KEYS, negated. For any other,
--   three numbers for each charge: its place, its limit (negated for the last charge), its cost.

-- @include call
-- @include quick

local numbers = cjson.decode(ARGV[4])
local numbers_read = 0

-- The current request: the index of its first key, and for each charge how far its key is from that one, its part,
-- limit and cost, and the function that decides it in one step (false: it goes the long way).
-- `is_shared`: whether the request charges a later part of the key too.
local first_key, count = 0, 0
local distances, parts, charged, costs, quick_charges, is_shared = {}, {}, {}, {}, {}, {}

-- Those functions by limit and cost, and whether a key of this call may have a list (see parts).
local deciders, has_lists = {}, false

local function decider_of(which, cost)
  local of_limit = deciders[which]
  if not of_limit then of_limit = {} deciders[which] = of_limit end
  local decider = of_limit[cost]
  if decider == nil then
    local limit = limits[which]
    local make = cost > 0 and quick[limit.kind]
    decider = make and make(limit, cost) or false
    of_limit[cost] = decider
  end
  return decider
end

local function read_charge(place, which, cost)
  local key = key_of(place)
  if count == 0 then first_key, is_shared = key, {} end
  count = count + 1
  local distance = key - first_key
  distances[count], parts[count] = distance, (place - key) / PART_STEP
  charged[count], costs[count] = limits[which], cost
  quick_charges[count] = decider_of(which, cost)
  if place ~= key then is_shared[distance], has_lists = true, true end
end

-- Goes on to the next request. False after the last one.
local function next_request()
  local number = numbers[numbers_read + 1]
  if not number then return false end
  if number < 0 then
    first_key, numbers_read = -number, numbers_read + 1
    return true
  end
  count = 0
  local which
  repeat
    local at = numbers_read
    which, numbers_read = numbers[at + 2], at + 3
    read_charge(numbers[at + 1], which < 0 and -which or which, numbers[at + 3])
  until which < 0
  return true
end
