-- Refuses a key for a while, or until it is unblocked; or ends that, and forgets the level of the key.
-- KEYS[1]: the limiter's value. KEYS[2]: the key's escalation, see escalate; only where a block ends.
-- ARGV[1]: the time, see now. ARGV[2]: what is added to the TTL.
-- ARGV[3]: for how many ms; 0: until unblocked; -1: ends the block.

-- @include set-block

local length = tonumber(ARGV[3])
if length < 0 then
  end_block(KEYS[1])
  redis.call("DEL", KEYS[2])
else
  set_block(KEYS[1], length, false)
end
return { now }
