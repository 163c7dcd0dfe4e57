-- Refuses a caller unless this store is home under the caller's epoch, before anything else is read or written. Stands in
-- front of operations that are called for the home region, and of no others.
-- KEYS[#KEYS]: the record of who is home, see home. ARGV[#ARGV]: the caller's epoch. Both are removed, so that the operation
-- finds its own keys and arguments only.

-- @include now

local home = redis.call("GET", KEYS[#KEYS]) or ""
local epoch, from, ends = string.match(home, "^(%d+) %S+ (%d+) (%d+) ")
if epoch ~= ARGV[#ARGV] or now < tonumber(from) or now >= tonumber(ends) then
  return redis.error_reply("SLUICEFENCED " .. home)
end
KEYS[#KEYS], ARGV[#ARGV] = nil, nil
