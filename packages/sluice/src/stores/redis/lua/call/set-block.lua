-- Writes and ends blocks: the mark in front of a limiter's value, and the TTL that both of them need.
-- ARGV[2]: what is added to the TTL.

-- @include now
-- @include block-mark

local slack_ms = tonumber(ARGV[2])

-- What a value holds behind its mark, how long that is kept, and how long its block still lasts (0: none, -1: forever).
local function read_value(key)
  local value = redis.call("GET", key)
  local rest, _, left, kept_until_ms = unmark(value, now)
  if value and not is_marked(value) then kept_until_ms = now + redis.call("PTTL", key) end
  return value, rest, rest and max(1, kept_until_ms - now) or 0, left
end

local function end_block(key)
  local value, rest, kept_ms = read_value(key)
  if not is_marked(value) then return end
  if kept_ms > 0 then redis.call("SET", key, rest, "PX", text(kept_ms + slack_ms))
  else redis.call("DEL", key) end
end

-- Blocks for `length` ms; 0: until it is ended. `is_longest`: a block that lasts longer stays.
local function set_block(key, length, is_longest)
  local _, rest, kept_ms, left = read_value(key)
  if is_longest and (left < 0 or left > length) then return end
  local finish, ttl = -1, MARK_MS_MAX
  if length > 0 then finish, ttl = now + length, length + slack_ms end
  local mark = struct.pack(MARK, "x", finish, length, now + kept_ms)
  redis.call("SET", key, mark .. (rest or ""), "PX", text(max(ttl, kept_ms)))
end
