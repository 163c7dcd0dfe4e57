-- Keys that hold several counters: all limits of one limiter, except logs and permits, are kept together,
-- so that a request under three limits reads and writes one key. Such a value is a packed list: the instant
-- until which it is kept, then the value of each part (false: the part is not in use). A key of which only
-- part 0 is in use holds that value itself. The mark of a block stands in front of either.
-- A place is the index of a key in KEYS, plus PART_STEP times the number of the part.

-- @include block-mark

local PART_STEP = 65536
-- The first byte of a packed list is at least this; that of any other value is lower.
local PACKED, PACKED_FROM = "\144", 144

-- By the key's index in KEYS: its unpacked list, if this call has read or made one; the instant until which a
-- changed list has to be kept (0: as long as before); a function that writes the mark of its block; and how long
-- the block still lasts.
local lists, changes, marks, lefts = {}, {}, {}, {}

local function key_of(place)
  return place % PART_STEP
end

local function is_packed(value)
  return type(value) == "string" and string.byte(value) >= PACKED_FROM
end

-- The list of a key that holds a list or nothing yet; nil if it holds a single value.
local function list_of(key)
  local list = lists[key]
  if list then return list end
  local value = values[key]
  if not value then list = { 0, false } elseif is_packed(value) then list = cmsgpack.unpack(value) end
  lists[key] = list
  return list
end

-- Unpacks the value of a key that holds a list or the mark of a block. From then on the key has a list.
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
