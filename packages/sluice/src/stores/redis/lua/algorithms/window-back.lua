-- What else happens to windows and quotas than being charged: the rest of the twin of
-- algorithms/fixed-window.ts.

-- @include window

function window.force(c, limit, cost)
  c.used, c.dirty = min(c.used + cost, limit.usedMax), true
end

function window.refund(c, _, receipt, kept, _, stands)
  -- What was charged to a window that has ended is gone with it. So is what was charged to a window in the
  -- future, which means that the clock stepped back.
  local back = min(receipt.cost - kept, stands)
  if receipt.mark ~= c.finish or back == 0 then return end
  c.used, c.dirty = max(0, c.used - back), true
  return true
end

function window.grant(c, _, cost)
  c.used, c.dirty = max(0, c.used - cost), true
end

function window.in_use(c, _, mark)
  if mark == c.finish then return c.used end
  return 0
end

function window.measure()
  return 1, 0
end
