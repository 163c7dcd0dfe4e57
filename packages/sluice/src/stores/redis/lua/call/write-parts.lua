-- Changes keys that hold several counters, and writes them at the end of the call: see parts.

-- @include parts

-- By how much a TTL is longer than needed, so that it is set less often: setting a TTL costs more than the value.
local KEPT_SHARE = 1 / 8

-- Turns the single value of a key into a list, because it gets other parts.
local function make_list(key)
  local list = list_of(key)
  if list then return list end
  -- Only the server knows how long a single value is kept, unless this call has changed that.
  local left = redis.call("PTTL", KEYS[key])
  list = { left > 0 and now + left or 0, values[key] }
  if (ttls[key] or 0) > 0 then changes[key] = now + ttls[key] end
  lists[key], values[key], ttls[key], steps[key] = list, PACKED, nil, nil
  return list
end

-- Keeps a value at a place for that many milliseconds; below 0: the TTL stays as it is.
local function set(place, value, ttl)
  local key = key_of(place)
  if place == key and not lists[key] then
    values[key], ttls[key] = value, ttl
    return
  end
  local list = make_list(key)
  local at = (place - key) / PART_STEP + 2
  for i = #list + 1, at do list[i] = false end
  list[at] = value
  changes[key] = max(changes[key] or 0, ttl > 0 and now + ttl or 0)
end

-- Whether a part other than part 0 is in use.
local function has_parts(list)
  for i = 3, #list do if list[i] then return true end end
  return false
end

local function write_list(key, needed_ms)
  local list, mark_until = lists[key], marks[key]
  local is_later, value = needed_ms > list[1], list[2]
  if is_later then list[1] = needed_ms + floor((needed_ms - now) * KEPT_SHARE) end
  if has_parts(list) then
    value = cmsgpack.pack(list)
    if not mark_until and not is_later then
      -- In place, if it is as long as before: see write_values.
      local before = values[key]
      if is_packed(before) and #before == #value then return redis.call("SETRANGE", KEYS[key], "0", value) end
      return redis.call("SET", KEYS[key], value, "KEEPTTL")
    end
  elseif type(value) == "number" then
    value = text(value)
  end
  local ttl = max(1, list[1] - now)
  if mark_until then
    value, ttl = mark_until(list[1]) .. (value or ""), kept_ms_of(lefts[key], value and ttl or 0)
  end
  if not value then return redis.call("DEL", KEYS[key]) end
  redis.call("SET", KEYS[key], value, "PX", text(ttl + SLACK_MS))
end
