-- Reads the record of who is home, and replaces it if it is still what the caller expects.
-- KEYS[1]: the record: epoch, name of the home region, from when until when this store is home, and before when it does not
-- become home, separated by spaces. ARGV[1]: the time, see now. ARGV[2]: what is added to the TTL. ARGV[3]: what the record
-- has to be; "": there is none. ARGV[4]: what it becomes; "": it is only read.
-- Reply: the time, 1 if it was replaced, and the record.

-- @include now

local KEPT_MS = 2592000000
local record, replaced = redis.call("GET", KEYS[1]) or "", 0
if ARGV[4] ~= "" and record == ARGV[3] then
  redis.call("SET", KEYS[1], ARGV[4], "PX", string.format("%d", KEPT_MS + tonumber(ARGV[2])))
  record, replaced = ARGV[4], 1
end
return { now, replaced, record }
