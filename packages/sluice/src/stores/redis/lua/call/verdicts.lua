-- What check and peek share: the answer to one charge. Three numbers: what remains, when to retry (0:
-- it is allowed, -1: never), when all is back (-1: never); of a shaper also the debt it waits for. Of a
-- blocked key nothing remains, and the first number says how long it is blocked: -1 forever, -1 - n for n ms.

local function longer(a, b)
  if a < 0 or b < 0 then return -1 end
  return max(a, b)
end

local function add_verdict(reply, limit, remaining, retry, reset, delay, blocked)
  if blocked ~= 0 then
    remaining = blocked < 0 and -1 or -1 - blocked
    retry, reset, delay = longer(retry, blocked), longer(reset, blocked), 0
  end
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = remaining, retry, reset
  if limit.delays then reply[n + 4] = delay end
end

-- What is left and when all of it is back, with nothing charged.
local function as_it_stands(c, limit)
  local _, remaining, _, reset = limit.algorithm.weigh(c, limit, 0, now)
  return remaining, reset
end
