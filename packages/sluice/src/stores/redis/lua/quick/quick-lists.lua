-- Decides requests whose charges all pass in one step, where a key may have a list: see parts.

-- @include requests

local reply = { now }
-- By the number of the charge: what to keep, and for how long or by how much an integer changes.
local kept, kept_ms, kept_steps = {}, {}, {}

local function keep_part(list, key, part, value, ttl)
  for i = #list + 1, part + 2 do list[i] = false end
  list[part + 2] = value
  local needed_ms = ttl and ttl > 0 and now + ttl or 0
  if needed_ms > (changes[key] or -1) then changes[key] = needed_ms end
end

-- Takes back the verdicts behind the first `n` numbers of the reply.
local function go_long_way(n)
  for at = #reply, n + 1, -1 do reply[at] = nil end
  return false
end

-- Decides the current request; false if one of its charges has to go the long way: its key is blocked, its value is
-- nothing that a quick charge can read, or its key holds a single value and gets another part.
local function is_quick_in_lists()
  local n = #reply
  for i = 1, count do
    local distance, value = distances[i], nil
    local key = first_key + distance
    local charge, list = quick_charges[i], lists[key]
    if not list and is_shared[distance] then
      list = list_of(key)
      if not list then return go_long_way(n) end
    end
    if not charge or marks[key] then return go_long_way(n) end
    if list then value = list[parts[i] + 2] else value = values[key] end
    local answered
    answered, kept[i], kept_ms[i], kept_steps[i] = charge(value)
    if not answered then return go_long_way(n) end
    reply[n + i] = answered
  end
  for i = 1, count do
    local key = first_key + distances[i]
    local list, step = lists[key], kept_steps[i]
    if list then
      keep_part(list, key, parts[i], kept[i], kept_ms[i])
    elseif step then
      values[key], steps[key] = kept[i], (steps[key] or 0) + step
    else
      local ttl = kept_ms[i]
      values[key] = kept[i]
      if ttl > 0 or not ttls[key] then ttls[key] = ttl end
    end
  end
  return true
end
