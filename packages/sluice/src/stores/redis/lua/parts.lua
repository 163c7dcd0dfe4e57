-- Keys that hold several counters: all limits of one limiter, except logs and permits, are kept together,
-- so that a request under three limits reads and writes one key. Such a value is a packed list: until
-- when it is kept, then the value of each part, false if there is none. A key with nothing but part 0
-- holds that value as it is. The mark of a block stands in front of either.
-- A place is the index of a key in KEYS, plus PART_STEP times the number of the part.

-- @include block-mark

local PART_STEP = 65536
-- The first byte of a packed list is at least this; that of any other value is lower.
local PACKED, PACKED_FROM = "\144", 144
-- By how much a TTL is longer than needed, so that it is set less often: that costs more than the value does.
local KEPT_SHARE = 1 / 8

-- By the key's index in KEYS: its packed list, if it has one in this call; until when that has to be kept if it
-- was changed (0: as long as before); the mark of its block; and how long the block still lasts.
local lists, changes, marks, lefts = {}, {}, {}, {}

local function key_of(place)
  return place % PART_STEP
end

local function is_packed(value)
  return type(value) == "string" and string.byte(value) >= PACKED_FROM
end

-- The list of a key that holds one, or that holds nothing yet.
local function list_of(key)
  local list = lists[key]
  if list then return list end
  local value = values[key]
  if not value then list = { 0, false } elseif is_packed(value) then list = cmsgpack.unpack(value) end
  lists[key] = list
  return list
end

-- Takes the value of a key apart: one that holds parts, or the mark of a block, has a list from then on.
local function take_apart(key)
  local value = values[key]
  if is_packed(value) then return list_of(key) end
  if lists[key] or not is_marked(value) then return end
  local kept_until_ms
  value, marks[key], lefts[key], kept_until_ms = unmark(value, now)
  lists[key] = is_packed(value) and cmsgpack.unpack(value) or { kept_until_ms, value }
end

-- What a place holds.
local function get(place)
  local key = key_of(place)
  take_apart(key)
  local list = lists[key]
  if list then return list[(place - key) / PART_STEP + 2] end
  return place == key and values[key]
end

-- Turns the single value of a key into a list, because it gets other parts.
local function make_list(key)
  local list = list_of(key)
  if list then return list end
  -- Until when a single value is kept is known to the server alone, unless this call has changed it.
  local left = redis.call("PTTL", KEYS[key])
  list = { left > 0 and now + left or 0, values[key] }
  if (ttls[key] or 0) > 0 then changes[key] = now + ttls[key] end
  lists[key], values[key], ttls[key], steps[key] = list, PACKED, nil, nil
  return list
end

-- What is kept at a place from now on, and for how long; below 0: for as long as it would have been.
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

-- Whether a list has more than part 0.
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
