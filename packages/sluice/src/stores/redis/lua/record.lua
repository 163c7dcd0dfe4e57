-- Reads a record, or changes it if it still says what was read: the twin of memory/memory-records.ts.
-- KEYS[1]: the record. ARGV[1]: the time, see now. ARGV[2]: what is added to each TTL. ARGV[3]: "" to read it; else until
-- when it may be changed. ARGV[4]: 1 if there was a record. ARGV[5]: what it said. ARGV[6]: what it is to say.
-- Reply: the time, 1 if it was changed, and what it said before; an empty list if there was none.

-- @include now

local RECORD_MS = 2592000000
local value = redis.call("GET", KEYS[1])
local said = value and { value } or {}
local until_ms = tonumber(ARGV[3])
if not until_ms or now > until_ms then return { now, 0, said } end
if (ARGV[4] == "1") ~= (value ~= false) or (value and value ~= ARGV[5]) then return { now, 0, said } end
redis.call("SET", KEYS[1], ARGV[6], "PX", string.format("%.0f", RECORD_MS + tonumber(ARGV[2])))
return { now, 1, said }
