-- Decides requests whose charges all pass in one step.

-- @include quick-lists

-- Decides the current request; false if one of its charges has to go the long way. While no key has a list, a
-- value that is packed or blocked is nothing that a quick charge can read.
local function is_quick()
  if has_lists then return is_quick_in_lists() end
  local n = #reply
  for i = 1, count do
    local charge, answered = quick_charges[i], nil
    if not charge then return go_long_way(n) end
    answered, kept[i], kept_ms[i], kept_steps[i] = charge(values[first_key + distances[i]])
    if not answered then return go_long_way(n) end
    reply[n + i] = answered
  end
  for i = 1, count do
    local key, step = first_key + distances[i], kept_steps[i]
    values[key] = kept[i]
    if step then
      steps[key] = (steps[key] or 0) + step
    else
      local ttl = kept_ms[i]
      if ttl > 0 or not ttls[key] then ttls[key] = ttl end
    end
  end
  return true
end
