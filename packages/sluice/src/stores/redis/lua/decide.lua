-- Decides many requests in their order, each all or nothing.
-- KEYS: counters, blocks, records of requests and open receipts, each once.
-- ARGV[4]: a JSON array of numbers. For each request: how many charges, 1 if receipts are kept, the
--   record's place in KEYS or 0, the places in ARGV of its print and of the receipts' name or 0, how
--   long receipts are kept; then for each charge: places of counter, block, open receipts or 0, its
--   limit, cost, 1 if shadow, shift.
-- ARGV[5]: how long a request is remembered. ARGV[6...]: prints and names.
-- Reply: the time, then for each request 1 or 0 (or -1: its id was used for another), its name or
--   "", and for each charge a verdict, its mark and what was in use before.

-- @include counters
-- @include verdicts

local REQUEST_FIELDS, CHARGE_FIELDS = 6, 7
local numbers = cjson.decode(ARGV[4])

-- Weighs a charge; what that says is kept in `weighed`, one list for each thing that is told.
local function weigh(weighed, i, at)
  local limit = limits[numbers[at + 3]]
  local c = counter_of(numbers[at], limit, numbers[at + 6])
  local cost = numbers[at + 4]
  local blocked = blocked_ms(numbers[at + 1])
  local allowed, remaining, retry, reset, before, mark = kinds[limit.kind].weigh(c, limit, cost, now)
  weighed[i] = {
    c = c, limit = limit, cost = cost, open = numbers[at + 2], blocked = blocked,
    passes = allowed and blocked == 0, shadow = numbers[at + 5] == 1, allowed = allowed,
    remaining = remaining, retry = retry, reset = reset, before = before, mark = mark,
  }
end

local function take(w, longest_delay, name, keep_ms)
  if w.limit.kind == "concurrency" then
    -- A permit's time starts when its request goes on.
    w.mark = w.mark + math.ceil(longest_delay)
  end
  if w.cost > 0 then kinds[w.limit.kind].take(w.c, w.limit, w.cost, now, w.before, w.mark) end
  if name == "" or w.open == 0 then return end
  local receipt = { id = name, cost = w.cost, at = now, before = w.before, lowered = 0 }
  receipts.open(KEYS[w.open], w.mark, receipt, keep_ms + SLACK_MS)
end

local function decide(reply, count, at, name, keep_ms)
  local weighed, admitted, delay = {}, true, 0
  for i = 1, count do
    weigh(weighed, i, at + (i - 1) * CHARGE_FIELDS)
    local w = weighed[i]
    if not w.passes and not w.shadow then admitted = false end
    if w.limit.delays and w.cost > 0 then delay = math.max(delay, w.before / w.limit.ticksPerMs) end
  end
  reply[#reply + 1] = admitted and 1 or 0
  reply[#reply + 1] = name
  for i = 1, count do
    local w = weighed[i]
    local remaining, reset = w.remaining, w.reset
    if w.allowed and not (admitted and w.passes) then remaining, reset = as_it_stands(w.c, w.limit) end
    if admitted and w.passes then take(w, delay, name, keep_ms) end
    local waits = w.limit.delays and w.allowed and w.cost > 0
    add_verdict(reply, w.allowed, remaining, w.retry, reset, waits and w.before or 0, w.blocked)
    reply[#reply + 1] = w.mark
    reply[#reply + 1] = w.before
  end
  return admitted
end

if not knows_periods() then return wrong_period() end
local reply, at = { now }, 1
while at <= #numbers do
  local count, holds, record = numbers[at], numbers[at + 1], numbers[at + 2]
  local print = ARGV[numbers[at + 3]]
  local name = holds == 1 and ARGV[numbers[at + 4]] or ""
  local keep_ms = numbers[at + 5]
  at = at + REQUEST_FIELDS
  local known = record > 0 and values[record] and cmsgpack.unpack(values[record])
  if known and known[1] ~= print then
    reply[#reply + 1] = -1
  elseif known then
    for i = 2, #known do reply[#reply + 1] = known[i] end
  else
    local first = #reply + 1
    if decide(reply, count, at, name, keep_ms) and record > 0 then
      local packed = cmsgpack.pack({ print, unpack(reply, first) })
      redis.call("SET", KEYS[record], packed, "PX", text(ARGV[5] + SLACK_MS))
      values[record] = packed
    end
  end
  at = at + count * CHARGE_FIELDS
end
write_counters()
return reply
