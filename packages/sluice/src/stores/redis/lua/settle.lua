-- Presents receipts, each once: refunds what is unused, or charges the excess as debt.
-- KEYS: counters, open receipts, records of requests and notes that a brief receipt was settled, each
--   once.
-- ARGV[4]: a JSON array of numbers, for each receipt: places of counter, open receipts (of a brief one:
--   the note), record or 0, its limit, the place of its name in ARGV (0: it was held briefly), cost, when
--   it was charged, mark, before, what is kept, shift, for how long a receipt or a note is kept.
-- ARGV[5...]: names.

-- @include all-counters

local RECEIPT_FIELDS = 12
local numbers, c = cjson.decode(ARGV[4]), {}

local function settle(at)
  local limit, name, mark = limits[numbers[at + 3]], numbers[at + 4], numbers[at + 7]
  local open, record, kept = numbers[at + 1], numbers[at + 2], numbers[at + 9]
  local receipt = { cost = numbers[at + 5], at = numbers[at + 6], before = numbers[at + 8], lowered = 0 }
  local list, place
  if name > 0 then
    local found
    found, list, place = receipts.close(KEYS[open], mark, ARGV[name])
    -- Settled before, and so it counts no more; unless it is so old that it was forgotten.
    local is_old = now >= receipt.at + numbers[at + 11]
    if not found and (not is_old or kept <= receipt.cost) then return end
    receipt = found or receipt
  elseif not redis.call("SET", KEYS[open], "1", "NX", "PX", numbers[at + 11] + SLACK_MS) then
    return
  end
  receipt.mark = mark
  -- Under other numbers than those of now what was used stays as it is.
  c.keeps_all = true
  load(c, numbers[at], limit, numbers[at + 10])
  local algorithm = limit.algorithm
  if kept > receipt.cost then
    algorithm.force(c, limit, kept - receipt.cost, now)
  elseif c.carried then
    -- Under other numbers it is unknown what the receipt stands for: it refunds nothing.
    c.dirty = false
  elseif kept < receipt.cost then
    local per_unit, per_ms = algorithm.measure(limit)
    local stands = stands_for(receipt, per_unit, per_ms, per_ms > 0 and now or receipt.at)
    local is_refunded = algorithm.refund(c, limit, receipt, kept, now, stands)
    if is_refunded and list then receipts.lower_younger(KEYS[open], mark, list, place, c, limit, now) end
  end
  save(c, limit)
  -- A request that was cancelled has not happened: sent again, it is decided again.
  if kept == 0 and record > 0 then redis.call("DEL", KEYS[record]) end
end

if not read_values() then return wrong_period() end
for at = 1, #numbers, RECEIPT_FIELDS do settle(at) end
write_values()
return { now }
