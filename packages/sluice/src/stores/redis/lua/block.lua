-- Refuses a key for a while, or until it is unblocked; or ends that.
-- KEYS[1]: the limiter's first value. ARGV[1]: the time, see now. ARGV[2]: what is added to the TTL.
-- ARGV[3]: for how many ms; 0: until unblocked; -1: ends the block.

-- @include now
-- @include block-mark

local key, slack_ms, length = KEYS[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local value = redis.call("GET", key)
local rest = unmark(value, now)
if length < 0 then
  if is_marked(value) and rest then redis.call("SET", key, rest, "KEEPTTL")
  elseif is_marked(value) then redis.call("DEL", key) end
  return { now }
end
local finish, ttl = -1, MARK_MS_MAX
if length > 0 then finish, ttl = now + length, length + slack_ms end
-- What is in use behind the mark keeps its time.
ttl = max(ttl, redis.call("PTTL", key))
redis.call("SET", key, struct.pack(MARK, "x", finish, length) .. (rest or ""), "PX", text(ttl))
return { now }
