-- What check and peek share: the answer to one charge, in the five numbers of a verdict: allowed,
-- remaining, retry (-1: never), reset (-1: never) and, of a shaper, the debt that it waits for.

local function longer(a, b)
  if a < 0 or b < 0 then return -1 end
  return math.max(a, b)
end

-- Adds the verdict of a charge that is not taken, or was: what is left then comes as it stands.
local function add_verdict(reply, allowed, remaining, retry, reset, delay, blocked)
  if blocked ~= 0 then
    allowed, remaining, delay = false, 0, 0
    retry, reset = longer(retry, blocked), longer(reset, blocked)
  end
  local n = #reply
  reply[n + 1] = allowed and 1 or 0
  reply[n + 2] = remaining
  reply[n + 3] = retry
  reply[n + 4] = reset
  reply[n + 5] = delay
end

-- What is left and when all of it is back, with nothing charged.
local function as_it_stands(c, limit)
  local _, remaining, _, reset = kinds[limit.kind].weigh(c, limit, 0, now)
  return remaining, reset
end
