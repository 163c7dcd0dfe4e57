-- Refuses a key for a while, or until it is unblocked; or ends that.
-- KEYS[1]: the block. KEYS[2]: the first counter. ARGV[1]: the time in ms, or "" for the server's own.
-- ARGV[2]: what is added to the TTL. ARGV[3]: for how many ms; 0: until unblocked; -1: ends the
-- block.

-- @include block-mark

local length = tonumber(ARGV[3])
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call("TIME")
  now = time[1] * 1000 + floor(time[2] / 1000)
end

local is_list = redis.call("TYPE", KEYS[2]).ok == "zset"
local value = not is_list and redis.call("GET", KEYS[2])
local rest = unmark(value, now)
if length < 0 then
  redis.call("DEL", KEYS[1])
  if is_marked(value) and rest then redis.call("SET", KEYS[2], rest, "KEEPTTL")
  elseif is_marked(value) then redis.call("DEL", KEYS[2]) end
  return { now }
end
local finish, ttl = -1, MARK_MS_MAX
if length > 0 then finish, ttl = now + length, length + tonumber(ARGV[2]) end
local mark = struct.pack(MARK, "x", finish, length)
redis.call("SET", KEYS[1], mark, "PX", ttl)
if not is_list then
  ttl = max(ttl, redis.call("PTTL", KEYS[2]))
  redis.call("SET", KEYS[2], mark .. (rest or ""), "PX", ttl)
end
return { now }
