-- What else happens to sliding windows than being charged: the rest of the twin of
-- algorithms/sliding-window-counter.ts.

-- @include sliding

function sliding.force(c, limit, cost)
  c.current, c.dirty = min(c.current + cost, limit.usedMax), true
end

function sliding.refund(c, limit, receipt, kept, _, stands)
  local back = min(receipt.cost - kept, stands)
  if back == 0 then return end
  if receipt.mark == c.finish then c.current = max(0, c.current - back)
  elseif receipt.mark == c.finish - limit.windowMs then c.previous = max(0, c.previous - back)
  else return end
  c.dirty = true
  return true
end

function sliding.grant(c, _, cost)
  c.current, c.dirty = max(0, c.current - cost), true
end

function sliding.in_use(c, limit, mark)
  if mark == c.finish then return c.current end
  if mark == c.finish - limit.windowMs then return c.previous end
  return 0
end

function sliding.status(c, limit, now)
  return weighted(c, limit.windowMs, now) + c.current
end

function sliding.measure()
  return 1, 0
end
