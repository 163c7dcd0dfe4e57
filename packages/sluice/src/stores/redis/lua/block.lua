-- Refuses a key for a while, or until it is unblocked; or ends that.
-- KEYS[1]: the limiter's value. ARGV[1]: the time, see now. ARGV[2]: what is added to the TTL.
-- ARGV[3]: for how many ms; 0: until unblocked; -1: ends the block.

-- @include now
-- @include block-mark

local key, slack_ms, length = KEYS[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local value = redis.call("GET", key)
local rest, _, _, kept_until_ms = unmark(value, now)
if value and not is_marked(value) then kept_until_ms = now + redis.call("PTTL", key) end
local kept_ms = rest and max(1, kept_until_ms - now) or 0
if length < 0 then
  if is_marked(value) and kept_ms > 0 then redis.call("SET", key, rest, "PX", text(kept_ms + slack_ms))
  elseif is_marked(value) then redis.call("DEL", key) end
  return { now }
end
local finish, ttl = -1, MARK_MS_MAX
if length > 0 then finish, ttl = now + length, length + slack_ms end
local mark = struct.pack(MARK, "x", finish, length, now + kept_ms)
redis.call("SET", key, mark .. (rest or ""), "PX", text(max(ttl, kept_ms)))
return { now }
