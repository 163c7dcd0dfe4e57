-- What else happens to buckets than being charged: the rest of the twin of algorithms/bucket.ts.

-- @include bucket

function bucket.force(c, limit, cost, now)
  local debt = debt_of(c, limit, now) + cost * limit.ticksPerUnit
  c.debt, c.at, c.dirty = min(debt, limit.debtTicksMax), now, true
end

function bucket.refund(c, limit, receipt, kept, now, stands)
  local debt = debt_of(c, limit, now)
  if limit.delays then
    -- A shaper refunds only the last place in its queue: requests queued behind it already have their delays.
    local after = receipt.before + receipt.cost * limit.ticksPerUnit - receipt.lowered
    if debt ~= after - (now - receipt.at) * limit.ticksPerMs then return end
  end
  local back = min((receipt.cost - kept) * limit.ticksPerUnit, stands)
  if back == 0 then return end
  c.debt, c.at, c.dirty = max(0, debt - back), now, true
  return true
end

function bucket.grant(c, limit, cost, now)
  local debt = debt_of(c, limit, now) - cost * limit.ticksPerUnit
  c.debt, c.at, c.dirty = max(0, debt), now, true
end

function bucket.in_use(c, limit, _, now)
  return debt_of(c, limit, now)
end

function bucket.measure(limit)
  return limit.ticksPerUnit, limit.ticksPerMs
end
