-- The mark of a block in front of a limiter's value: an x, when the block ends (-1: never), how long it was
-- meant to last, and until when the value behind it has to be kept. So a check reads no other key than its counter's.

-- @include whole

local MARK, MARK_LENGTH = "<c1ddd", 25
-- A block without an end is kept for a hundred years.
local MARK_MS_MAX = 3155760000000

local function is_marked(value)
  return is_text(value, "x") and #value >= MARK_LENGTH
end

-- How long a block still lasts; -1 is forever. Never longer than it was meant to, even after the clock stepped back.
local function left_of(finish, length, now)
  if finish < 0 then return -1 end
  return max(0, min(finish - now, length))
end

-- How long a marked value is kept: at least as long as the block, and 1 ms if that has ended.
local function kept_ms_of(left, ttl)
  return left < 0 and MARK_MS_MAX or max(ttl, left, 1)
end

-- Splits a value. Returns what is behind the mark (false: nothing), a function that writes the mark again for a value
-- that is kept until a given instant, how long the block still lasts (0: it has ended), and until when the value
-- is kept.
local function unmark(value, now)
  if not is_marked(value) then return value, nil, 0, 0 end
  local _, finish, length, kept_until_ms = struct.unpack(MARK, value)
  local rest = #value > MARK_LENGTH and string.sub(value, MARK_LENGTH + 1) or false
  local left = left_of(finish, length, now)
  local function mark_until(until_ms) return struct.pack(MARK, "x", finish, length, until_ms) end
  return rest, mark_until, left, kept_until_ms
end
