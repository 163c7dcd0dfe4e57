-- Refuses a key for a while, or until it is unblocked.
-- KEYS[1]: the block. ARGV[1]: the time in ms, or "" for the server's own. ARGV[2]: what is added to
-- the TTL. ARGV[3]: for how many ms; 0 is until unblocked, kept for a hundred years.

local HUNDRED_YEARS_MS = "3155760000000"

local now = tonumber(ARGV[1])
if not now then
  local time = redis.call("TIME")
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local length = tonumber(ARGV[3])
if length == 0 then
  redis.call("SET", KEYS[1], "forever", "PX", HUNDRED_YEARS_MS)
else
  local value = string.format("%.0f:%.0f", now + length, length)
  redis.call("SET", KEYS[1], value, "PX", string.format("%.0f", length + ARGV[2]))
end
return { now }
